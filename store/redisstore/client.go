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
	case *redis.ClusterClient, *redis.Ring:
		return nil, fmt.Errorf("redisstore: Config.Client is a %T; want a client of one server, or of one behind Sentinel", client)
	}
	c, ok := client.(interface{ Options() *redis.Options })
	if !ok {
		return nil, fmt.Errorf("redisstore: Config.Client is a %T, whose options cannot be checked; want a *redis.Client, see NewClient", client)
	}
	o := c.Options()
	unsafe := func(option string, value, want any, why string) error {
		return fmt.Errorf("redisstore: the client's %s is %v; want %v: %s (NewClient and Options set it)", option, value, want, why)
	}
	between := fmt.Sprintf("up to %v", maxSocketWait)
	outOfBounds := func(d time.Duration) bool { return d <= 0 || d > maxSocketWait }
	switch {
	case o.MaxRetries != 0:
		return nil, unsafe("MaxRetries", o.MaxRetries, "-1, for none", "a script that is sent again may have run twice, and its caller waits for all attempts")
	case !o.ContextTimeoutEnabled:
		return nil, unsafe("ContextTimeoutEnabled", false, true, "otherwise a deadline does not end a call")
	case outOfBounds(o.DialTimeout):
		return nil, unsafe("DialTimeout", o.DialTimeout, between, "a dial without a near bound holds up what waits for a connection")
	case o.DialTimeout*time.Duration(o.DialerRetries) > maxSocketWait:
		return nil, unsafe("DialerRetries", o.DialerRetries, 1, fmt.Sprintf("with a DialTimeout of %v they are no near bound", o.DialTimeout))
	case outOfBounds(o.ReadTimeout):
		return nil, unsafe("ReadTimeout", o.ReadTimeout, between, "without a near bound a Redis that hangs keeps the connection")
	case outOfBounds(o.WriteTimeout):
		return nil, unsafe("WriteTimeout", o.WriteTimeout, between, "without a near bound a Redis that hangs keeps the connection")
	}
	return o, nil
}
