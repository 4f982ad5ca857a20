package redisstore

import (
	"cmp"
	crypto "crypto/rand"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

// Config configures a Store.
type Config struct {
	// Client is the connection to Redis, to one server or to one behind Sentinel, with the options that NewClient or
	// NewSentinelClient gives it or others that are safe. A client of a Cluster or a Ring is refused. The Store does not
	// close it. Required.
	Client redis.UniversalClient
	// Namespace separates this service and environment from others on the same Redis, for example
	// "payments-prod": 1 to 32 lower-case letters, digits, '-' or '_', beginning with a letter. Required.
	Namespace string
	// Compact, if not nil, shortens the names of callers' keys; see there before changing it.
	Compact *Compact
	// Logger is told what goes wrong in the background; nil is slog.Default().
	Logger *slog.Logger
}

// instance is what does not depend on where on Redis a state lies.
type instance struct {
	id        string // of it among those of its fleet
	namespace string
	compact   *compactNames // nil: names are readable
	log       *slog.Logger
	shapes    shapes
	now       func() time.Time
	stepped   bool // tests only: scripts are given the clock
	lastID    atomic.Uint64
	members   members
	secret    secret
	moves     sync.RWMutex // held while a lease goes from a lane of a cluster to another

	uncovered atomic.Int64 // until when a cluster may have slots that are nobody's, by now
	rights    rights       // where heartbeats are
}

func newInstance(cfg *Config) (*instance, error) {
	if err := seawall.ValidName("namespace", cfg.Namespace); err != nil {
		return nil, fmt.Errorf("redisstore: Config.Namespace: %w", err)
	}
	i := &instance{
		id:        strings.ToLower(crypto.Text()[:12]) + "-",
		namespace: cfg.Namespace,
		log:       cmp.Or(cfg.Logger, slog.Default()),
		shapes:    shapes{prelude: prelude},
		now:       steady(),
	}
	if cfg.Compact != nil {
		var err error
		if i.compact, err = newCompactNames(cfg.Compact, cfg.Namespace); err != nil {
			return nil, err
		}
	}
	i.lastID.Store(rand.Uint64N(1 << 40)) //nolint:gosec // no secret; others may number leases of this store, too
	i.members.init()
	i.secret.init()
	return i, nil
}
