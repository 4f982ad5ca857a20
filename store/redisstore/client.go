package redisstore

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxSocketWait is the longest bound on a dial, a read or a write with which a client is taken for safe: longer ones
// have connections, and what waits for them, pile up behind a Redis that hangs.
const maxSocketWait = 10 * time.Second

// checkClient returns the options of a client, or an error that names the one that makes it unsafe in front of a
// Redis that is slow or gone.
func checkClient(client redis.UniversalClient) (*redis.Options, error) {
	switch client.(type) {
	case *redis.ClusterClient:
		return nil, fmt.Errorf("redisstore: Config.Client is a %T; want a client of one server, or of one behind Sentinel, or call NewCluster", client)
	case *redis.Ring:
		return nil, fmt.Errorf("redisstore: Config.Client is a %T; want a client of one server, of one behind Sentinel, or of a Cluster", client)
	}
	c, ok := client.(interface{ Options() *redis.Options })
	if !ok {
		return nil, fmt.Errorf("redisstore: Config.Client is a %T, whose options cannot be checked; want a *redis.Client, see NewClient and NewSentinelClient", client)
	}
	o := c.Options()
	if o.MaxRetries != 0 {
		return nil, unsafe("MaxRetries", o.MaxRetries, "-1, for none", "a script that is sent again may have run twice, and its caller waits for all attempts")
	}
	return o, checkWaits(o)
}

// unsafe says that an option is not as it must be.
func unsafe(option string, value, want any, why string) error {
	return fmt.Errorf("redisstore: the client's %s is %v; want %v: %s (NewClient, NewSentinelClient and NewClusterClient set it)", option, value, want, why)
}

// checkWaits finds waits that have no near bound.
func checkWaits(o *redis.Options) error {
	between := fmt.Sprintf("up to %v", maxSocketWait)
	const hangs = "without a near bound a Redis that hangs keeps the connection"
	outOfBounds := func(d time.Duration) bool { return d <= 0 || d > maxSocketWait }
	switch {
	case !o.ContextTimeoutEnabled:
		return unsafe("ContextTimeoutEnabled", false, true, "otherwise a deadline does not end a call")
	case outOfBounds(o.DialTimeout):
		return unsafe("DialTimeout", o.DialTimeout, between, "a dial without a near bound holds up what waits for a connection")
	case o.DialTimeout*time.Duration(o.DialerRetries) > maxSocketWait:
		return unsafe("DialerRetries", o.DialerRetries, 1, fmt.Sprintf("with a DialTimeout of %v they are no near bound", o.DialTimeout))
	case outOfBounds(o.ReadTimeout):
		return unsafe("ReadTimeout", o.ReadTimeout, between, hangs)
	case outOfBounds(o.WriteTimeout):
		return unsafe("WriteTimeout", o.WriteTimeout, between, hangs)
	}
	// Mode is not looked at: go-redis writes it, when a server does not know these notifications.
	if m := o.MaintNotificationsConfig; m != nil && m.RelaxedTimeout > maxSocketWait {
		return unsafe("MaintNotificationsConfig.RelaxedTimeout", m.RelaxedTimeout, between, "it takes the place of ReadTimeout while Redis is maintained: "+hangs)
	}
	return nil
}

// checkCluster is checkClient for a client of a Cluster.
func checkCluster(o *redis.ClusterOptions) error {
	switch {
	case o.MaxRetries > 0:
		return unsafe("MaxRetries", o.MaxRetries, "-1, for none", "a script that is sent again may have run twice, and its caller waits for all attempts")
	case o.MaxRedirects < 1:
		return unsafe("MaxRedirects", o.MaxRedirects, "at least 1", "otherwise it does not follow slots that have moved")
	case o.ReadOnly:
		return unsafe("ReadOnly", o.ReadOnly, false, "replicas know less than their master")
	}
	return checkWaits(&redis.Options{
		ContextTimeoutEnabled: o.ContextTimeoutEnabled, DialTimeout: o.DialTimeout, DialerRetries: o.DialerRetries,
		ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, MaintNotificationsConfig: o.MaintNotificationsConfig,
	})
}
