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
	"os"
	"strings"
	"time"

	"github.com/seawall-go/seawall/middleware/report"
)

const (
	// patience is how long an instance may take to answer.
	patience = 10 * time.Second
	// maxReport is the most that is read of one report, in bytes.
	maxReport = 64 << 20
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
	for _, name := range set.Args() {
		r, err := read(ctx, name, in)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
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
		return report.Report{}, errors.Unwrap(err)
	}
	defer file.Close()
	return decode(file)
}

func fetch(ctx context.Context, url string) (report.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return report.Report{}, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
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
	if err := json.NewDecoder(io.LimitReader(r, maxReport)).Decode(&decoded); err != nil {
		return decoded, fmt.Errorf("no report: %w", err)
	}
	if len(decoded.Instances) == 0 {
		return decoded, errors.New("no report: it names no instance; want the JSON of report.Recorder.Handler")
	}
	return decoded, nil
}
