// Payments is an API behind all four layers, to try them on.
//
//	go run ./examples/payments
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/report"
	"github.com/seawall-go/seawall/middleware/telemetry"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

const (
	// bootGrace is how long /healthz waits for the store before it answers 200 without it: within a second of the
	// process's start.
	bootGrace = 800 * time.Millisecond
	// drain bounds how long a stopping instance waits for its handlers: the longest work, and a little.
	drain = (maxWork + 5_000) * time.Millisecond
	// goodbye bounds how long it then takes to give back what it holds and leave the fleet.
	goodbye = 5 * time.Second
)

func main() {
	logging.Disable() // of go-redis, which writes a line for every failed dial: the store says once that Redis is gone
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "payments:", err)
		os.Exit(2) //nolint:gocritic // nothing is held any more
	}
}

// run serves until ctx is done, then stops accepting, finishes, gives back what it holds and leaves the
// fleet.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	a, err := newApp(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		if err := a.close(ctx); err != nil { // such as a Redis that is gone: its TTLs tidy up
			slog.Warn("payments: stopped, but could not tidy up", "error", err)
		}
	}()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return fmt.Errorf("flag -addr: %w", err)
	}
	server := &http.Server{
		Handler: a.api, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	fmt.Fprintf(out, "payments: listening on http://%s\n", listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		slog.Warn("payments: some requests did not finish and are cut off", "after", drain)
		return server.Close()
	}
	return nil
}

// app is the API and what it stands on, in the order in which it is closed.
type app struct {
	api    *echo.Echo
	stack  *seawall.Stack // closes its layers and the store
	store  fullStore
	client redis.UniversalClient
	flags  *flags.Flags

	shared    shared           // on Redis, if there is Redis
	failover  *store.Failover  // in front of it
	denyCache *store.DenyCache // in front of that
}

// newFlags follows the file, whose flags may be targeted at callers, or has the defaults in code without one.
func newFlags(ctx context.Context, file string, callers *identity.Hasher) (*flags.Flags, error) {
	if file == "" {
		return flags.New(flags.Config{})
	}
	return flags.OpenFile(ctx, file, flags.Config{Targeting: &flags.Targeting{CallerID: callers.CallerID}})
}

// fullStore is what both stores are.
type fullStore interface {
	seawall.Store
	seawall.Member
	fmt.Stringer
	Close(ctx context.Context) error
}

// shared is what stores on Redis are.
type shared interface {
	seawall.Store
	Lapsed() uint64
}

// newShared returns a store on the client's Redis.
func newShared(client redis.UniversalClient) (shared, error) {
	cfg := redisstore.Config{Client: client, Namespace: "payments"}
	if _, ok := client.(*redis.ClusterClient); ok {
		return redisstore.NewCluster(cfg)
	}
	return redisstore.New(cfg)
}

// newStore returns the embedded store, or Redis with the embedded one to fall back on, behind a cache of denials.
func (a *app) newStore(o options) (fullStore, error) {
	embedded := memstore.New(memstore.Config{})
	if o.redis == nil {
		return embedded, nil
	}
	a.client = o.redis()
	var err error
	if a.shared, err = newShared(a.client); err != nil {
		return nil, err
	}
	if a.failover, err = store.NewFailover(store.FailoverConfig{
		Shared: a.shared, Local: embedded, ExpectedInstances: o.instances,
	}); err != nil {
		return nil, err
	}
	a.denyCache, err = store.NewDenyCache(store.DenyCacheConfig{Store: a.failover})
	return a.denyCache, err
}

func newApp(ctx context.Context, o options) (_ *app, err error) {
	a := &app{}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(context.WithoutCancel(ctx)))
		}
	}()
	if a.store, err = a.newStore(o); err != nil {
		return nil, err
	}
	callers, err := newCallers(a.store)
	if err != nil {
		return nil, err
	}
	if a.flags, err = newFlags(ctx, o.flagsFile, callers); err != nil {
		return nil, fmt.Errorf("flag -flags: %w", err)
	}
	layers, worker, err := o.layers(a.flags.Scale)
	if err != nil {
		return nil, err
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	observed := telemetry.Config{
		Registerer: metrics, StoreName: a.store.String(), Fleet: a.store, Workers: worker, Flags: a.flags,
		CallerID: callers.CallerID,
	}
	if o.redis != nil {
		observed.Leases, observed.Breaker, observed.DenyCache = a.shared, a.failover, a.denyCache
	}
	metered, err := telemetry.New(observed)
	if err != nil {
		return nil, err
	}
	recorder, err := report.New(report.Config{CallerID: callers.CallerID, Fleet: a.store})
	if err != nil {
		return nil, err
	}
	observer := seawall.Observers(metered, recorder)
	a.stack, err = seawall.New(seawall.Config{Store: a.store, Modes: a.flags, Observer: observer}, layers...)
	if err != nil {
		return nil, err
	}
	if err := a.flags.Err(); err != nil { // the policies' flags are known only now
		return nil, fmt.Errorf("flag -flags: %s: %w", o.flagsFile, err)
	}
	if err := a.flags.Unread(); err != nil { // probably misspelt, or of another version of this program
		slog.Warn("payments: flags that nothing reads", "error", err)
	}
	protect, err := protect(a.stack, callers)
	if err != nil {
		return nil, err
	}
	a.api = newAPI(protect, o.work)
	a.api.GET("/healthz", health(a.store, time.Now()))
	a.api.GET("/metrics", echo.WrapHandler(promhttp.HandlerFor(metrics, promhttp.HandlerOpts{})))
	a.api.GET("/seawall/", forThisMachine(console(layers, a.flags, metrics)))
	a.api.GET("/seawall/report", forThisMachine(echo.WrapHandler(recorder.Handler())))
	return a, nil
}

// health answers 200 once the store has seen this instance, or the store had its time.
func health(m seawall.Member, started time.Time) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !m.Fleet().Announced && time.Since(started) < bootGrace {
			return c.String(http.StatusServiceUnavailable, "starting\n")
		}
		return c.String(http.StatusOK, "ok\n")
	}
}

func (a *app) close(ctx context.Context) error {
	var errs []error
	if a.stack != nil {
		errs = append(errs, a.stack.Close(ctx))
	} else if a.store != nil {
		errs = append(errs, a.store.Close(ctx))
	}
	if a.client != nil {
		errs = append(errs, a.client.Close())
	}
	if a.flags != nil {
		errs = append(errs, a.flags.Close())
	}
	return errors.Join(errs...)
}
