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
	_, port, err := net.SplitHostPort(o.Addr)
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
		if parsing, ok := errors.AsType[*neturl.Error](err); ok { // it quotes the URL, password and all
			err = parsing.Err
		}
		return nil, fmt.Errorf("redis URL: %w; want redis://[user:password@]host:port/db or rediss://…", err)
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
	bound(o)
	// With them, connections wait for up to 10 s while Redis is maintained, and are dialled anew past the Dialer.
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// NewClusterClient returns a client for a Cluster, with the ClusterOptions of the URL. Close it when the Cluster is closed.
func NewClusterClient(url string) (*redis.ClusterClient, error) {
	o, err := ClusterOptions(url)
	if err != nil {
		return nil, err
	}
	return redis.NewClusterClient(o), nil
}

// ClusterOptions returns the options of a client for a Cluster from the URL of one of its nodes, redis:// or rediss://, with
// addr=host:port for each other one that may be asked for the rest: redis://10.0.0.1:6379?addr=10.0.0.2:6379. Otherwise they are
// as those that Options returns.
func ClusterOptions(url string) (*redis.ClusterOptions, error) {
	o, err := redis.ParseClusterURL(url)
	if err == nil {
		for _, addr := range o.Addrs {
			err = errors.Join(err, checkAddr(&redis.Options{Network: "tcp", Addr: addr}, "redis://"+addr))
		}
	}
	if err != nil {
		if parsing, ok := errors.AsType[*neturl.Error](err); ok { // it quotes the URL, password and all
			err = parsing.Err
		}
		return nil, fmt.Errorf("redis URL: %w; want redis://[user:password@]host:port?addr=host:port or rediss://…", err)
	}
	one := &redis.Options{TLSConfig: o.TLSConfig, DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, PoolTimeout: o.PoolTimeout}
	bound(one)
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = one.DialTimeout, one.ReadTimeout, one.WriteTimeout, one.PoolTimeout
	o.MaxRetries = -1
	o.MinRetryBackoff = -1 // before a slot that has moved is looked for where it is
	o.MaxRetryBackoff = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.DisableIdentity = true
	o.DisableRoutingPolicies = true // all is said to the master that has the key
	if o.PoolSize == 0 {
		o.PoolSize = poolSize
	}
	o.PipelinePoolSize = -1
	o.ConnMaxIdleTime = -1
	o.Dialer = suspicious(redis.NewDialer(one))
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// bound bounds the waits that a URL does not.
func bound(o *redis.Options) {
	for _, t := range []struct {
		value *time.Duration
		to    time.Duration
	}{
		{&o.DialTimeout, 250 * time.Millisecond},
		{&o.ReadTimeout, 500 * time.Millisecond},
		{&o.WriteTimeout, 500 * time.Millisecond},
		{&o.PoolTimeout, 250 * time.Millisecond},
	} {
		if *t.value == 0 {
			*t.value = t.to
		}
	}
}
