// Replay tells what limits would have done to yesterday's requests: it reads access logs, has the rules that an application
// runs decide about each request in the time of the log, and prints what they would have refused, and whom.
//
//	go run ./examples/replay -rate 10/s -burst 20 access.log.gz
//	go run ./examples/replay -policy policies.yaml -caller user -html report.html access.log access.log.1.gz
//
// docs/replay.md goes from a log to a policy in ten minutes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "replay:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, args []string, in io.Reader, out, progress io.Writer) error {
	o, err := readOptions(args, out)
	if err != nil {
		return err
	}
	if err := o.distinct(in); err != nil {
		return err
	}
	r, err := newReplay(o)
	if err != nil {
		return err
	}
	defer r.close()
	failed := r.open(ctx, in)
	if len(r.logs) == 0 {
		return failed
	}
	shown := show(progress, r.logs)
	err = r.run(ctx)
	shown.end()
	r.stopped = r.stopped || ctx.Err() != nil
	if err != nil {
		return err
	}
	res, wrong := r.result()
	return errors.Join(failed, wrong, res.write(o, out))
}

// write prints the result, and writes the page if one is asked for: first, since who reads what is printed may have seen enough,
// which ends the program.
func (r *result) write(o *options, out io.Writer) (err error) {
	if o.page != "" {
		err = r.writePage(o.page)
	}
	if o.asJSON {
		return errors.Join(err, json.NewEncoder(out).Encode(r))
	}
	return errors.Join(err, r.table(out))
}
