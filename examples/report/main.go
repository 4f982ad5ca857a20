// Report makes one report of those of all instances: of whom the limits refuse, or would refuse.
//
//	go run ./examples/report [-json] [-top N] URL|FILE…
//
// A URL is of an instance's report.Recorder.Handler, such as http://127.0.0.1:8080/seawall/report; a file holds its JSON,
// and "-" is standard input. What cannot be read is named, and the others are reported; then the status is 1.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/seawall-go/seawall/middleware/report"
)

const (
	// patience is how long an instance may take to answer.
	patience = 10 * time.Second
	// maxReport is the most that is read of one report, in bytes.
	maxReport = 16 << 20
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	set := flag.NewFlagSet("report", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	asJSON := set.Bool("json", false, "print JSON with all callers, in place of a table")
	top := set.Int("top", 20, "how many callers of each policy the table shows")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			set.SetOutput(out)
			fmt.Fprintln(out, "usage: report [flags] URL|FILE...")
			set.PrintDefaults()
		}
		return err
	}
	switch {
	case set.NArg() == 0:
		return errors.New("no reports; want the URLs of all instances' reports, such as http://127.0.0.1:8080/seawall/report, or files of their JSON")
	case *top < 0:
		return fmt.Errorf("flag -top: %d; want how many callers of each policy to show", *top)
	}
	var reports []report.Report
	var failed []error
	from := map[string]string{} // an instance's report
	for _, name := range set.Args() {
		r, err := read(ctx, name, in)
		if err == nil {
			err = already(r, from, shown(name))
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", shown(name), err))
			continue
		}
		reports = append(reports, r)
	}
	if len(reports) == 0 {
		return errors.Join(failed...)
	}
	if *asJSON {
		failed = append(failed, json.NewEncoder(out).Encode(report.Merge(reports...)))
	} else {
		failed = append(failed, report.Merge(reports...).Top(*top).WriteTable(out))
	}
	return errors.Join(failed...)
}

// already tells if an instance of the report is in another one: behind a balancer, two requests may meet the same one.
func already(r report.Report, from map[string]string, name string) error {
	for _, i := range r.Instances {
		if other, ok := from[i]; ok {
			return fmt.Errorf("left out: instance %q is in the report of %s; want a URL that leads to one instance", i, other)
		}
	}
	for _, i := range r.Instances {
		from[i] = name
	}
	return nil
}

// shown is a name as it may be printed: without a URL's password.
func shown(name string) string {
	if u, err := url.Parse(name); err == nil {
		return u.Redacted()
	}
	return name
}

// read returns the report that an instance, a file or standard input has.
func read(ctx context.Context, name string, in io.Reader) (report.Report, error) {
	switch {
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		return fetch(ctx, name)
	case name == "-":
		return decode(in)
	}
	file, err := os.Open(name)
	if err != nil {
		return report.Report{}, fmt.Errorf("%w; want a file, or a URL that begins with http:// or https://", errors.Unwrap(err))
	}
	defer file.Close()
	return decode(file)
}

func fetch(ctx context.Context, address string) (report.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return report.Report{}, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return report.Report{}, failed.Err // without the URL, which the caller names
	} else if err != nil {
		return report.Report{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return report.Report{}, fmt.Errorf("answered %s; want a report", resp.Status)
	}
	return decode(resp.Body)
}

func decode(r io.Reader) (report.Report, error) {
	var decoded report.Report
	text, err := io.ReadAll(io.LimitReader(r, maxReport))
	if err == nil {
		err = json.Unmarshal(text, &decoded)
	}
	if err != nil {
		return decoded, fmt.Errorf("no report: %w", err)
	}
	if len(decoded.Instances) == 0 {
		return decoded, errors.New("no report: it names no instance; want the JSON of report.Recorder.Handler")
	}
	return decoded, nil
}
