package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seawall-go/seawall/examples/replay/accesslog"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/ratelimit/policyfile"
)

// The orders in which requests are replayed.
const (
	inFileOrder = "file"
	sorted      = "sorted"
)

// options are what the command line says.
type options struct {
	logs     []string
	order    string
	window   time.Duration // in which requests are put in order
	format   string
	identity identity
	tick     time.Duration
	inFlight int64
	policies []ratelimit.Policy
	routes   []string
	share    float64 // of the callers that a burst may refuse
	top      int
	asJSON   bool
	page     string // a file; "" is none
	policy   string // a file; "" is none
}

const usage = `usage: replay [flags] (-policy FILE | -rate R -burst B | -limit N -window DURATION) LOG...

Replay reads access logs, plain or gzip ("-" is standard input), and tells what the
policies would have refused, and whom.

`

// readOptions reads the command line. Usage goes to out.
func readOptions(args []string, out io.Writer) (*options, error) {
	o := &options{}
	var rate, burst, limit, window, by, share string
	set := flag.NewFlagSet("replay", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.policy, "policy", "", "the policy `FILE` that the application loads (docs/policyfile.md)")
	set.StringVar(&rate, "rate", "", "a token bucket per caller that gains so much, such as 10/s or 100/m; a plain number is per second")
	set.StringVar(&burst, "burst", "", "what the bucket of -rate holds")
	set.StringVar(&limit, "limit", "", "a sliding log per caller: so many requests in any -window")
	set.StringVar(&window, "window", "", "the window of -limit, such as 1m; a plain number is seconds")
	set.Int64Var(&o.inFlight, "in-flight", 0, "a cap on what a caller has in flight, where the log has durations; 0 is none")
	set.StringVar(&o.order, "order", sorted, "file: the clock never steps back; sorted: by time, within -reorder and across logs")
	set.DurationVar(&o.window, "reorder", 30*time.Minute, "how late a request may be in a log and still be put in order; later ones are counted")
	set.StringVar(&o.format, "format", "auto", "of the logs: auto, "+strings.Join(accesslog.Formats(), ", "))
	set.StringVar(&by, "caller", "address", "whom requests are counted for: address, address/64, address/24/64, user, field:NAME")
	set.Func("route", "a `PATTERN` of the application's router, such as /v1/users/:id; may be repeated", func(pattern string) error {
		o.routes = append(o.routes, pattern)
		return nil
	})
	set.DurationVar(&o.tick, "tick", time.Second, "the clock's smallest step; many logs know whole seconds only")
	set.StringVar(&share, "share", "1%", "of the callers whom a burst may refuse something; the smallest such burst is shown")
	set.IntVar(&o.top, "top", 5, "how many callers and routes are shown of each policy")
	set.BoolVar(&o.asJSON, "json", false, "print JSON in place of a table")
	set.StringVar(&o.page, "html", "", "write a page with plots to this `FILE`, too")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(out, usage)
			set.SetOutput(out)
			set.PrintDefaults()
		}
		return nil, err
	}
	o.logs = set.Args()
	var err error
	if o.identity, err = parseIdentity(by); err != nil {
		return nil, err
	}
	if o.share, err = parseShare(share); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return o, o.load(rate, burst, limit, window)
}

func (o *options) check() error {
	switch {
	case len(o.logs) == 0:
		return errors.New(`no logs; want files, plain or gzip, or "-" for standard input`)
	case slices.ContainsFunc(o.logs, isFlag):
		late := o.logs[slices.IndexFunc(o.logs, isFlag)]
		return fmt.Errorf("%q is behind a log; want all flags before the logs, and ./%s for a file of that name", late, late)
	case o.order != inFileOrder && o.order != sorted:
		return fmt.Errorf("flag -order: %q; want file or sorted", o.order)
	case o.window < 0:
		return fmt.Errorf("flag -reorder: %v; want how late a request may be, such as 30m, or 0", o.window)
	case o.tick <= 0:
		return fmt.Errorf("flag -tick: %v; want the clock's smallest step, such as 1s or 1ms", o.tick)
	case o.inFlight < 0:
		return fmt.Errorf("flag -in-flight: %d; want a cap, or 0 for none", o.inFlight)
	case o.top < 0:
		return fmt.Errorf("flag -top: %d; want how many callers and routes to show", o.top)
	case o.format != "auto" && !slices.Contains(accesslog.Formats(), o.format):
		return fmt.Errorf("flag -format: %q; want auto, %s", o.format, strings.Join(accesslog.Formats(), ", "))
	case countOf(o.logs, "-") > 1:
		return errors.New(`standard input ("-") is there twice; want it once`)
	}
	return nil
}

// isFlag tells if a log's name is a flag that the flag package has not read, since it stops at the first log.
func isFlag(name string) bool { return len(name) > 1 && name[0] == '-' }

func countOf(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// load sets the policies, and the routes that they name.
func (o *options) load(rate, burst, limit, window string) error {
	var file *policyfile.File
	var err error
	switch {
	case (rate != "") != (burst != ""):
		return errors.New("flags -rate and -burst: one is missing; want both, such as -rate 10/s -burst 20")
	case (limit != "") != (window != ""):
		return errors.New("flags -limit and -window: one is missing; want both, such as -limit 60 -window 1m")
	case o.policy != "" && rate != "", o.policy != "" && limit != "", rate != "" && limit != "":
		return errors.New("more than one of -policy, -rate and -limit; want one, or a file with several policies")
	case o.policy != "":
		file, err = policyfile.Load(o.policy)
	case rate != "":
		file, err = shortcut("-rate and -burst", fmt.Sprintf("{name: rate, bucket: {rate: %s, burst: %s}}", per(rate, "/s"), burst))
	case limit != "":
		file, err = shortcut("-limit and -window", fmt.Sprintf("{name: limit, log: {limit: %s, window: %s}}", limit, per(window, "s")))
	case o.inFlight == 0:
		return errors.New("nothing to replay; want -policy FILE, or -rate and -burst, or -limit and -window, or -in-flight")
	default:
		return nil
	}
	if err != nil {
		return err
	}
	o.policies = file.Policies()
	o.routes = append(o.routes, file.Routes()...)
	return nil
}

// shortcut is the policy file that flags stand for.
func shortcut(flags, policy string) (*policyfile.File, error) {
	if strings.ContainsAny(policy, "\n\r#\"'&*!|>%@`[]") {
		return nil, fmt.Errorf("flags %s: %s; want plain numbers and units", flags, policy)
	}
	name := "flags " + flags
	file, err := policyfile.Parse(name, []byte("version: 1\nratelimit:\n  - "+policy+"\n"))
	if err != nil { // without the line, which nobody has written
		err = errors.New(strings.ReplaceAll(err.Error(), name+":3: ", name+": "))
	}
	return file, err
}

// per appends the unit to a plain number.
func per(text, unit string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text + unit
	}
	return text
}

// parseShare reads "1%" or "0.01".
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) { // NaN, too
		return 0, fmt.Errorf("flag -share: %q; want a share of the callers, such as 1%% or 0.01", text)
	}
	return share, nil
}
