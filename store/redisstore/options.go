package redisstore

import (
	"cmp"
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
	return checkPlaces(url, o.Addr)
}

// checkPlaces refuses a URL without a host, and ports that no server can have.
func checkPlaces(url string, addrs ...string) error {
	if u, err := neturl.Parse(url); err != nil || u.Hostname() == "" {
		return errors.New("it names no host")
	}
	for _, addr := range addrs {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return err
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("port %q; want 1 to 65535", port)
		}
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
	(&settings{
		&o.MaxRetries, &o.DialerRetries, &o.PoolSize, &o.PipelinePoolSize, &o.ContextTimeoutEnabled, &o.DisableIdentity,
		&o.ConnMaxIdleTime, &o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout,
	}).makeSafe()
	o.Dialer = suspicious(redis.NewDialer(o))
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

// settings are the options that all kinds of clients have, where they have them.
type settings struct {
	maxRetries, dialerRetries, poolSize, pipelinePoolSize *int
	contextTimeoutEnabled, disableIdentity                *bool
	connMaxIdleTime, dial, read, write, pool              *time.Duration
}

// makeSafe sets them as Options says. What the URL gives is kept.
func (s *settings) makeSafe() {
	*s.maxRetries = -1
	*s.dialerRetries = 1
	*s.poolSize = cmp.Or(*s.poolSize, poolSize)
	*s.pipelinePoolSize = -1 // pipelines use the same connections, which the Store warms
	*s.contextTimeoutEnabled = true
	*s.disableIdentity = true
	*s.connMaxIdleTime = -1
	*s.dial = cmp.Or(*s.dial, 250*time.Millisecond)
	*s.read = cmp.Or(*s.read, 500*time.Millisecond)
	*s.write = cmp.Or(*s.write, 500*time.Millisecond)
	*s.pool = cmp.Or(*s.pool, 250*time.Millisecond)
}
