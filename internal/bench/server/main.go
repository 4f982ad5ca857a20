// Server is an API for wrk: bare Echo, or Echo behind the full stack, with a handler that takes a millisecond. /stats says what
// it has cost so far.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/telemetry"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
	"github.com/seawall-go/seawall/workershed"
)

func main() {
	mode := flag.String("mode", "bare", "bare, memstore or redis")
	url := flag.String("redis", "", "a redis:// URL")
	rate := flag.Int64("rate", 1_000_000, "what a caller may do a second, and its burst")
	flag.Parse()
	if err := run(*mode, *url, *rate); err != nil {
		log.Fatal(err)
	}
}

// counter counts what the store did not decide.
type counter struct {
	seawall.Observer
	fallbacks atomic.Int64
}

// Fallback implements seawall.Observer.
func (c *counter) Fallback(l *seawall.Limit, o seawall.Outcome, reason string) {
	if l.Layer() == ratelimit.Name {
		c.fallbacks.Add(1)
	}
	c.Observer.Fallback(l, o, reason)
}

func run(mode, url string, rate int64) error {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = echo.ExtractIPDirect()
	seen := &counter{Observer: seawall.NopObserver{}}
	var mw []echo.MiddlewareFunc
	if mode != "bare" {
		stack, err := full(mode, url, rate, seen)
		if err != nil {
			return err
		}
		mw = append(mw, stack)
	}
	var served atomic.Int64
	handler := func(work func()) echo.HandlerFunc {
		return func(c echo.Context) error {
			served.Add(1)
			work()
			return c.String(http.StatusOK, "ok")
		}
	}
	e.GET("/sleep", handler(func() { time.Sleep(time.Millisecond) }), mw...) // work that waits for something else
	e.GET("/spin", handler(func() {
		for began := time.Now(); time.Since(began) < time.Millisecond; {
		}
	}), mw...)
	e.GET("/stats", func(c echo.Context) error { return c.JSON(http.StatusOK, stats(served.Load(), seen)) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	e.Listener = l
	return e.Start("")
}

// full is all four layers with telemetry, for callers with an API key.
func full(mode, url string, rate int64, seen *counter) (echo.MiddlewareFunc, error) {
	quiet := slog.New(slog.DiscardHandler)
	var s seawall.Store = memstore.New(memstore.Config{})
	if mode == "redis" {
		client, err := redisstore.NewClient(url)
		if err != nil {
			return nil, err
		}
		shared, err := redisstore.New(redisstore.Config{Client: client, Namespace: "bench", Logger: quiet})
		if err != nil {
			return nil, err
		}
		failover, err := store.NewFailover(store.FailoverConfig{Shared: shared, Local: memstore.New(memstore.Config{}), Logger: quiet})
		if err != nil {
			return nil, err
		}
		if s, err = store.NewDenyCache(store.DenyCacheConfig{Store: failover}); err != nil {
			return nil, err
		}
	} else if mode != "memstore" {
		return nil, fmt.Errorf("-mode %s; want bare, memstore or redis", mode)
	}
	limiter, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(rate), rate)},
	}})
	if err != nil {
		return nil, err
	}
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1000})
	if err != nil {
		return nil, err
	}
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 1000, Reserve: 0.2})
	if err != nil {
		return nil, err
	}
	workers, err := workershed.New(workershed.Config{Workers: 1000})
	if err != nil {
		return nil, err
	}
	observer, err := telemetry.New(telemetry.Config{Registerer: prometheus.NewRegistry(), Workers: workers, Logger: quiet})
	if err != nil {
		return nil, err
	}
	seen.Observer = observer
	stack, err := seawall.New(seawall.Config{Store: s, Observer: seen}, workers, limiter, slots, fleet)
	if err != nil {
		return nil, err
	}
	if m, ok := s.(seawall.Member); ok && mode == "redis" {
		for !m.Fleet().Announced { // a fleet of nobody has no room
			time.Sleep(time.Millisecond) // between looks at the fleet
		}
		for i := range 100 { // the first calls warm connections and load scripts
			a := stack.Admit(context.Background(), &seawall.Request{Key: seawall.NewKey(fmt.Sprint("warm", i))})
			a.Done(context.Background())
		}
	}
	h, err := identity.NewHasher(identity.Config{Secret: []byte("a secret of thirty-two bytes, ok")})
	if err != nil {
		return nil, err
	}
	return middleware.StackConfig{Config: middleware.Config{Identify: h.ByAPIKey(identity.APIKey{}), Logger: quiet}, Stack: stack}.ToMiddleware()
}

// stats are totals since the process began. The garbage collector keeps its books when it has run.
func stats(served int64, seen *counter) map[string]float64 {
	runtime.GC()
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
		{Name: "/gc/heap/allocs:objects"},
	}
	metrics.Read(samples)
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail with these arguments
	return map[string]float64{
		"served": float64(served), "fallbacks": float64(seen.fallbacks.Load()),
		"gc": samples[0].Value.Float64(), "busy": samples[1].Value.Float64() - samples[2].Value.Float64(),
		"allocs": float64(samples[3].Value.Uint64()),
		"cpu":    float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9,
	}
}
