package redisstore

import (
	"errors"
	"fmt"
	"net"
	neturl "net/url"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize is how many connections an instance keeps. Redis works off one call after the other, so a few
// warm connections serve more than many that must first be dialled.
const poolSize = 10

// checkAddr refuses a URL without a host, which go-redis takes for localhost, and a port that no server can
// have.
func checkAddr(o *redis.Options, url string) error {
	if o.Network != "tcp" {
		return nil
	}
	if u, err := neturl.Parse(url); err != nil || u.Hostname() == "" {
		return errors.New("it names no host")
	}
	return checkPort(o.Addr)
}

// checkPort refuses a port that no server can have.
func checkPort(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("port %q; want 1 to 65535", port)
	}
	return nil
}

// NewClient returns a client for a Store, with the Options of the URL. Close it when the Store is closed.
//
// go-redis writes a line for every dial that fails; redis.SetLogger is for who does not want to read them, since the
// Store says once that Redis is gone and once that it is back.
func NewClient(url string) (*redis.Client, error) {
	o, err := Options(url)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(o), nil
}

// Options returns the options of a client for a Store from a redis:// or rediss:// URL: no retries (a
// script that was retried may have run twice), short bounds on dialling and waiting, and a small pool, which the
// Store warms. Its connections end when they hear what is no answer to a Store's questions, as an array of millions:
// whatever listens there cannot fill this program's memory. So the client is for a Store only. A pool size and
// timeouts that the URL gives are kept.
func Options(url string) (*redis.Options, error) {
	o, err := redis.ParseURL(url)
	if err == nil {
		err = checkAddr(o, url)
	}
	if err != nil {
		return nil, fmt.Errorf("redis URL: %w; want redis://[user:password@]host:port/db or rediss://… (NewSentinelClient takes those of Sentinels)", withoutURL(err))
	}
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.DisableIdentity = true
	if o.PoolSize == 0 {
		o.PoolSize = poolSize
	}
	o.PipelinePoolSize = -1 // pipelines use the same connections, which the Store warms
	o.ConnMaxIdleTime = -1
	o.Dialer = suspicious(redis.NewDialer(o))
	fillTimeouts(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout)
	// With them, connections wait for up to 10 s while Redis is maintained, and are dialled anew past the Dialer.
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// withoutURL is an error of parsing a URL without the URL, whose password it would show.
func withoutURL(err error) error {
	if parsing, ok := errors.AsType[*neturl.Error](err); ok {
		return parsing.Err
	}
	return err
}

// fillTimeouts fills in those that a URL does not give.
func fillTimeouts(dial, read, write, pool *time.Duration) {
	for _, t := range []struct {
		value *time.Duration
		to    time.Duration
	}{
		{dial, 250 * time.Millisecond},
		{read, 500 * time.Millisecond},
		{write, 500 * time.Millisecond},
		{pool, 250 * time.Millisecond},
	} {
		if *t.value == 0 {
			*t.value = t.to
		}
	}
}
