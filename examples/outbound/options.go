package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall/store/redisstore"
)

// maxWorkers bounds the processes that a mistyped flag may start.
const maxWorkers = 64

// options are the command's flags, checked.
type options struct {
	api      string
	redis    *redis.Options // nil is memory
	workers  int
	units    int64
	rate     int64
	zone     *time.Location
	searches float64
	wait     bool
}

// parse reads the arguments. Its errors name the flag, the value and what is wanted.
func parse(args []string, out io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("outbound", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.api, "api", "", "`URL` of the API; empty starts one that counts what it is asked")
	store := set.String("redis", "", "redis:// or rediss:// `URL` of the budget; empty keeps it in memory, for one worker")
	set.IntVar(&o.workers, "workers", 1, "worker `processes`, 1 to 64")
	set.Int64Var(&o.units, "units", 10_000, "what the API allows a day; a search costs 100 and a list 1")
	set.Int64Var(&o.rate, "rate", 100, "`calls` that the API allows a second")
	zone := set.String("zone", "America/Los_Angeles", "time zone in which the API's day ends at midnight")
	set.Float64Var(&o.searches, "searches", 0.3, "`share` of the calls that are searches, 0 to 1")
	set.BoolVar(&o.wait, "wait", false, "when the budget is spent, wait for the next day's instead of ending")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			set.SetOutput(out)
			fmt.Fprintln(out, "usage: outbound [flags]")
			set.PrintDefaults()
		}
		return o, err
	}
	if set.NArg() > 0 {
		return o, fmt.Errorf("argument %q: want flags only; see -h", set.Arg(0))
	}
	return o, o.check(*store, *zone)
}

// check fills in what needs parsing and tries every value on the package that will use it.
func (o *options) check(store, zone string) error {
	bad := func(name, format string, args ...any) error {
		return fmt.Errorf("flag -%s: %w", name, fmt.Errorf(format, args...))
	}
	var err error
	if u, err := url.Parse(o.api); o.api != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return bad("api", "%q; want an http:// or https:// URL", o.api)
	}
	o.api = strings.TrimRight(o.api, "/")
	if store != "" {
		if !strings.HasPrefix(store, "redis://") && !strings.HasPrefix(store, "rediss://") {
			return bad("redis", "want a redis:// or rediss:// URL, such as redis://127.0.0.1:6379/0") // it may hold a password
		}
		if o.redis, err = redisstore.Options(store); err != nil {
			return bad("redis", "%w", err)
		}
	}
	switch {
	case o.workers < 1 || o.workers > maxWorkers:
		return bad("workers", "%d; want 1 to %d", o.workers, maxWorkers)
	case o.workers > 1 && o.redis == nil:
		return bad("workers", "%d without -redis; want 1, since processes share no memory, or -redis too", o.workers)
	case zone == "" || zone == "Local":
		return bad("zone", "%q; want a name that means the same everywhere, such as America/Los_Angeles", zone)
	}
	if o.zone, err = time.LoadLocation(zone); err != nil {
		return bad("zone", "%q: %w; want a name of the time zone database, such as America/Los_Angeles", zone, err)
	}
	if _, err = o.daily().Quota.Rule(); err != nil {
		return bad("units", "%w", err)
	}
	if _, err = o.speed().Quota.Rule(); err != nil {
		return bad("rate", "%w", err)
	}
	if !(o.searches >= 0 && o.searches <= 1) {
		return bad("searches", "%v; want a share from 0 to 1", o.searches)
	}
	if o.searches > 0 && o.units < price(search) {
		return bad("units", "%d; want at least %d, which a search costs, or -searches 0", o.units, price(search))
	}
	return nil
}
