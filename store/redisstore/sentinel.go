package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	neturl "net/url"

	"github.com/redis/go-redis/v9"
)

// NewSentinelClient returns a client for a Store of the master that Sentinels name, with the SentinelOptions of the URL.
// It follows a failover, and may be used before a Sentinel or a master is there. Close it when the Store is closed.
//
// go-redis writes a line for every Sentinel that it tries; see NewClient.
func NewSentinelClient(url string) (*redis.Client, error) {
	o, err := SentinelOptions(url)
	if err != nil {
		return nil, err
	}
	return redis.NewFailoverClient(o), nil
}

// SentinelOptions returns the options of a client for a Store, for redis.NewFailoverClient, from a URL as go-redis'
// ParseFailoverURL reads it:
//
//	redis://sentinel1:26379/0?addr=sentinel2:26379&addr=sentinel3:26379&master_name=mymaster
//
// User and password in front of the first host are for the Sentinels; username=…&password=… are for the servers that
// they name. With rediss:// TLS is spoken with both, and their certificates are to be for the URL's host.
//
// They are as safe as those of Options; its dialer, which ends connections to what is no Redis, dials Sentinels and servers.
// dial_timeout bounds how long one connection takes to be made, 250 ms unless it is given. The DialTimeout of the options
// is longer: to find the master a client may have to give up a Sentinel that hangs, three times, before it asks others. If
// that time is over before, go-redis stays with the one that hangs.
func SentinelOptions(url string) (*redis.FailoverOptions, error) {
	o, err := redis.ParseFailoverURL(url)
	if err == nil {
		err = checkSentinels(o, url)
	}
	if err != nil {
		return nil, fmt.Errorf("redis URL: %w; want redis://[user:password@]sentinel:port/db?master_name=name[&addr=sentinel2:port2] or rediss://…", withoutURL(err))
	}
	(&settings{
		&o.MaxRetries, &o.DialerRetries, &o.PoolSize, &o.PipelinePoolSize, &o.ContextTimeoutEnabled, &o.DisableIdentity,
		&o.ConnMaxIdleTime, &o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout,
	}).makeSafe()
	one := o.DialTimeout
	if one > 0 && o.ReadTimeout > 0 { // others are refused by New
		o.DialTimeout = max(one, min(2*one+3*o.ReadTimeout, maxSocketWait))
	}
	o.Dialer = suspicious(func(ctx context.Context, network, addr string) (net.Conn, error) {
		return redis.NewDialer(&redis.Options{DialTimeout: one, TLSConfig: o.TLSConfig})(ctx, network, addr)
	})
	return o, nil
}

// checkSentinels refuses what go-redis would take for something else than it says, and what a Store cannot use.
func checkSentinels(o *redis.FailoverOptions, url string) error {
	u, err := neturl.Parse(url)
	switch {
	case err != nil:
		return err
	case u.Hostname() == "":
		return errors.New("it names no host")
	case u.Port() == "":
		return errors.New("it names no port; Sentinels listen on 26379 unless they are told otherwise")
	case o.MasterName == "":
		return errors.New("it has no master_name; want the name that the Sentinels' configuration gives the master, such as master_name=mymaster")
	case o.ReplicaOnly, o.RouteByLatency, o.RouteRandomly:
		return errors.New("it has some commands sent to replicas; want none of replica_only, route_by_latency and route_randomly, since limits are decided by the master")
	}
	return checkPlaces(url, o.SentinelAddrs...)
}
