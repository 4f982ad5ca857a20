package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
	"github.com/seawall-go/seawall/workershed"
)

// options are the command's flags, checked.
type options struct {
	addr        string
	redis       func() redis.UniversalClient // nil is memstore
	flagsFile   string
	rate        ratelimit.Rate
	burst       int64
	maxInFlight int64
	workers     int64
	reserve     float64
	work        worker
	instances   int64 // expected until Redis has told
}

// parse reads the arguments. Its errors name the flag, the value and what is expected.
func parse(args []string, out io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("payments", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`host:port` to listen on")
	url := set.String("redis", "", "redis:// or rediss:// `URL` of the shared store; empty keeps everything in memory")
	mode := set.String("redis-mode", "single", "single, cluster or sentinel; -redis is then redis://node:6379?addr=node2:6379, or redis://sentinel:26379?master_name=mymaster")
	set.StringVar(&o.flagsFile, "flags", "", "flagd-format JSON `file` of feature flags, reloaded when it changes; empty enforces all layers")
	rate := set.String("rate", "10", "`tokens` per second and caller, decimals allowed")
	set.Int64Var(&o.burst, "burst", 20, "size of a caller's token bucket")
	set.Int64Var(&o.maxInFlight, "max-in-flight", 20, "requests that a caller may have in flight")
	set.Int64Var(&o.workers, "workers", 64, "requests that this instance handles well at a time")
	set.Float64Var(&o.reserve, "reserve", 0.2, "share of the fleet kept for critical requests, from 0 up to but not 1")
	work := set.String("work", "sleep", "what a request's ?ms= does: sleep, or cpu to burn so many milliseconds of a processor")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			set.SetOutput(out)
			fmt.Fprintln(out, "usage: payments [flags]")
			set.PrintDefaults()
			fmt.Fprintln(out, "environment:\n  SEAWALL_SECRET\n    \tat least 32 random bytes that key the hashes of callers, the same for all instances; without it they agree on one through Redis"+
				"\n  SEAWALL_INSTANCES\n    \thow many instances share the limits until Redis has told (default 1)")
		}
		return o, err
	}
	if set.NArg() > 0 {
		return o, fmt.Errorf("argument %q: want flags only; see -h", set.Arg(0))
	}
	if text := os.Getenv("SEAWALL_INSTANCES"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			return o, fmt.Errorf("environment SEAWALL_INSTANCES: %q; want how many instances share the limits, such as 10", text)
		}
		o.instances = n
	}
	var err error
	if o.work, err = newWorker(*work); err != nil {
		return o, fmt.Errorf("flag -work: %w", err)
	}
	return o, o.check(*rate, *url, *mode)
}

// check fills in what needs parsing and tries every value on the package that will use it.
func (o *options) check(rate, url, mode string) error {
	bad := func(name string, err error) error { return fmt.Errorf("flag -%s: %w", name, err) }
	var err error
	if o.addr == "" {
		return bad("addr", errors.New("it is empty; want host:port, such as 127.0.0.1:8080"))
	}
	if o.rate, err = ratelimit.ParseRate(rate); err != nil {
		return bad("rate", err)
	}
	if _, err = ratelimit.TokenBucket(o.rate, o.burst).Rule(); err != nil {
		return bad("burst", err)
	}
	if _, err = concurrency.New(concurrency.Config{MaxInFlight: o.maxInFlight}); err != nil {
		return bad("max-in-flight", err)
	}
	if _, err = fleetshed.New(fleetshed.Config{Workers: o.workers}); err != nil {
		return bad("workers", err)
	}
	if _, err = fleetshed.New(fleetshed.Config{Workers: o.workers, Reserve: o.reserve}); err != nil {
		return bad("reserve", err)
	}
	return o.checkRedis(url, mode)
}

// checkRedis fills in how to connect to Redis.
func (o *options) checkRedis(url, mode string) error {
	switch mode {
	case "single", "sentinel", "cluster":
	default:
		return fmt.Errorf("flag -redis-mode: %q; want single, cluster or sentinel", mode)
	}
	switch {
	case url == "" && mode == "sentinel":
		return errors.New("flag -redis-mode: sentinel without -redis; want a Sentinel's URL there, redis://host:26379?master_name=mymaster")
	case url == "" && mode == "cluster":
		return errors.New("flag -redis-mode: cluster without -redis; want the URL of a node there, redis://host:6379?addr=host:6379 with some others")
	case url == "":
		return nil
	case !strings.HasPrefix(url, "redis://") && !strings.HasPrefix(url, "rediss://"):
		return errors.New("flag -redis: want a redis:// or rediss:// URL, such as redis://127.0.0.1:6379/0")
	case mode == "sentinel":
		sentinels, err := redisstore.SentinelOptions(url)
		if err != nil {
			return fmt.Errorf("flag -redis: %w", err)
		}
		o.redis = func() redis.UniversalClient { return redis.NewFailoverClient(sentinels) }
		return nil
	case mode == "cluster":
		nodes, err := redisstore.ClusterOptions(url)
		if err != nil {
			return fmt.Errorf("flag -redis: %w", err)
		}
		o.redis = func() redis.UniversalClient { return redis.NewClusterClient(nodes) }
		return nil
	}
	server, err := redisstore.Options(url)
	if err != nil {
		return fmt.Errorf("flag -redis: %w", err)
	}
	o.redis = func() redis.UniversalClient { return redis.NewClient(server) }
	return nil
}

// layers builds the four layers. The worker shedder runs a sampler, which closing the stack ends.
func (o *options) layers(scale func() float64) ([]seawall.Layer, *workershed.Shedder, error) {
	rate, err := ratelimit.New(ratelimit.Config{Scale: scale, Policies: []ratelimit.Policy{
		{
			Name: "api", Quota: ratelimit.TokenBucket(o.rate, o.burst),
			Match: func(r *seawall.Request) bool { return r.Route != loginRoute },
		},
		{
			Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(5), 5), OnFailure: seawall.FailClosed,
			Match: func(r *seawall.Request) bool { return r.Route == loginRoute },
			Key:   identity.LoginPair,
			Cost:  func(*seawall.Request) int64 { return 1 },
		},
	}})
	if err != nil {
		return nil, nil, err
	}
	inFlight, err := concurrency.New(concurrency.Config{MaxInFlight: o.maxInFlight})
	if err != nil {
		return nil, nil, err
	}
	fleet, err := fleetshed.New(fleetshed.Config{Workers: o.workers, Reserve: o.reserve})
	if err != nil {
		return nil, nil, err
	}
	worker, err := workershed.New(workershed.Config{Workers: o.workers})
	if err != nil {
		return nil, nil, err
	}
	return []seawall.Layer{worker, rate, inFlight, fleet}, worker, nil
}
