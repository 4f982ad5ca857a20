package redisstore

import (
	"fmt"

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
		err = checkPlaces(url, o.Addrs...)
	}
	if err != nil {
		return nil, fmt.Errorf("redis URL: %w; want redis://[user:password@]host:port[?addr=host:port] or rediss://…", withoutURL(err))
	}
	(&settings{
		&o.MaxRetries, &o.DialerRetries, &o.PoolSize, &o.PipelinePoolSize, &o.ContextTimeoutEnabled, &o.DisableIdentity,
		&o.ConnMaxIdleTime, &o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout,
	}).makeSafe()
	o.MinRetryBackoff, o.MaxRetryBackoff = -1, -1 // none before a slot that has moved is looked for where it is
	o.DisableRoutingPolicies = true               // all is said to the master that has the key
	o.Dialer = suspicious(redis.NewDialer(&redis.Options{DialTimeout: o.DialTimeout, TLSConfig: o.TLSConfig}))
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}
