// Outbound spends the daily budget of somebody else's API from several worker processes, and never overdraws it.
//
//	go run ./examples/outbound
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	_ "time/tzdata" // containers often have none

	"github.com/redis/go-redis/v9/logging"
)

const (
	// grace is how long a call that is under way may take on when the worker is to end.
	grace = 500 * time.Millisecond
	// goodbye bounds how long the store then takes to close.
	goodbye = 300 * time.Millisecond
)

func main() {
	logging.Disable() // of go-redis, which writes a line for every failed dial: the worker says once that Redis is gone
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	o, err := parse(os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	code := 2
	if err == nil {
		code, err = 1, run(ctx, o, os.Args[1:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "outbound:", err)
		os.Exit(code) //nolint:gocritic // nothing is held any more
	}
}

// run works until the budget is spent or ctx is done, alone or by worker processes with the same args.
func run(ctx context.Context, o options, args []string, out io.Writer) error {
	name := cmp.Or(os.Getenv(nameEnv), "outbound")
	say := func(format string, args ...any) {
		fmt.Fprintf(out, "%s: %s\n", name, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")) // one write, one line
	}
	if o.api == "" {
		builtIn := &api{}
		url, end, err := builtIn.serve(ctx)
		if err != nil {
			return err
		}
		defer func() {
			_ = end()
			say("the API counted %d calls and charged %d units", builtIn.calls.Load(), builtIn.units.Load())
		}()
		o.api = url
	}
	if o.workers > 1 {
		say("%d workers spend %d units a day on %s", o.workers, o.units, o.api)
		return launch(ctx, o.workers, slices.Concat(args, []string{"-workers=1", "-api=" + o.api}), out)
	}
	if name != "outbound" {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		go orphaned(stop)
	}
	say("process %d spends %d units a day on %s", os.Getpid(), o.units, o.api)
	return work(ctx, o, say)
}

// work is what a worker process does.
func work(ctx context.Context, o options, say func(string, ...any)) error {
	store, closeStore, err := o.openStore()
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		_ = closeStore(ctx) // fails without Redis, on which nothing of ours is left to tidy up
	}()
	budget, err := newBudget(store, o.daily(), o.speed())
	if err != nil {
		return err
	}
	w := &worker{
		client: newClient(budget, account(), o.zone), api: o.api, searches: o.searches, wait: o.wait, say: say,
	}
	cut, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	var reporting sync.WaitGroup
	reporting.Go(func() { w.report(cut) })
	err = w.run(ctx, cut)
	cancel()
	reporting.Wait()
	say("%v", &w.tally)
	return err
}
