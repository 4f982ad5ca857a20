package redisstore

import (
	"errors"
	"fmt"
	neturl "net/url"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

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
		err = checkNodes(o, url)
	}
	if err != nil {
		return nil, fmt.Errorf("redis URL: %w; want redis://[user:password@]host:port[?addr=host:port] or rediss://…", withoutURL(err))
	}
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
	fillTimeouts(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout)
	o.Dialer = suspicious(redis.NewDialer(&redis.Options{DialTimeout: o.DialTimeout, TLSConfig: o.TLSConfig}))
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// checkNodes refuses a URL without a host, which go-redis takes for localhost, and ports that no server can have.
func checkNodes(o *redis.ClusterOptions, url string) error {
	if u, err := neturl.Parse(url); err != nil || u.Hostname() == "" {
		return errors.New("it names no host")
	}
	for _, addr := range o.Addrs {
		if err := checkPort(addr); err != nil {
			return err
		}
	}
	return nil
}
