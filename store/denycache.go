package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

// DenyCacheConfig says what a DenyCache wraps, and how much it keeps for how long.
type DenyCacheConfig struct {
	// Store is asked what is not known. Required.
	Store seawall.Store
	// MaxKeys is of how many limits of callers denials are kept; zero is 65,536, which take about 20 MB. Beyond it,
	// those go first that are seldom asked for.
	MaxKeys int
	// MaxAge is how long a denial is believed at most, 10 s or less; zero is a second. So long may a caller be
	// denied to whom another instance has given something back.
	MaxAge time.Duration
	// Now is the clock that denials grow old by; nil is the system's, read so that steps of it do not matter. It is for
	// tests whose store goes by a clock of theirs: then it must be the same clock, and may not go back.
	Now func() time.Time
}

// DenyCache is a seawall.Store that answers in place of another one what is known already: a limit that a caller has
// exhausted stays exhausted for a while. It repeats a denial, with the numbers of the present, to the same question
// about the same limit, rule and caller, until the store might say something else; to a greater cost, too, if what the
// store would say follows from it. Slots are never denied from memory, since they come back at any time.
//
// What is spent, refunded or reset through the cache counts at once. It knows nothing of what other instances do: what
// they spend makes its numbers old, but no denial wrong, and what they give back it sees after MaxAge at the latest.
//
// Put it in front of a Failover, which can neither probe it nor should count its answers. It is safe for concurrent
// use, and does nothing in the background.
type DenyCache struct {
	store   seawall.Store
	denials *denials
	now     func() time.Duration // since the cache was made
	_       [64]byte             // those above are read by all, and this is changed by all
	saved   atomic.Uint64
}

var (
	_ seawall.Store    = (*DenyCache)(nil)
	_ seawall.Member   = (*DenyCache)(nil)
	_ seawall.Preparer = (*DenyCache)(nil)
)

// NewDenyCache returns an empty DenyCache, which owns its store: Close closes it.
func NewDenyCache(cfg DenyCacheConfig) (*DenyCache, error) {
	switch {
	case cfg.Store == nil:
		return nil, errors.New("store: DenyCacheConfig.Store is nil; want a store")
	case cfg.MaxKeys < 0:
		return nil, fmt.Errorf("store: DenyCacheConfig.MaxKeys is %d; want at least 1, or 0 for %d", cfg.MaxKeys, defaultDenialKeys)
	case cfg.MaxAge < 0 || cfg.MaxAge > longestDenialAge:
		return nil, fmt.Errorf("store: DenyCacheConfig.MaxAge is %v; want more than 0 and at most %v, or 0 for %v",
			cfg.MaxAge, longestDenialAge, defaultDenialAge)
	}
	if cfg.MaxKeys == 0 {
		cfg.MaxKeys = defaultDenialKeys
	}
	if cfg.MaxAge == 0 {
		cfg.MaxAge = defaultDenialAge
	}
	d, err := newDenials(cfg.MaxKeys, cfg.MaxAge)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	began := time.Now()
	now := func() time.Duration { return time.Since(began) }
	if cfg.Now != nil {
		began = cfg.Now()
		now = func() time.Duration { return cfg.Now().Sub(began) }
	}
	return &DenyCache{store: cfg.Store, denials: d, now: now}, nil
}

// Saved returns how many calls of Apply were answered without the store.
func (c *DenyCache) Saved() uint64 { return c.saved.Load() }

// Apply implements seawall.Store. The store is not asked if an enforced check is known to be denied, unless an advisory
// one comes before it, which would have to be counted. What is not known of the other checks then is told as Admitted
// and Fallback, and nothing else: no numbers, no ID and no At. So if several limits are exhausted, another one may be
// the first to deny than if the store had been asked.
func (c *DenyCache) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if undoes(checks) {
		c.forget(checks)       // what the store has done may be long known elsewhere when its answer comes
		defer c.forget(checks) // and what others were answered meanwhile
		return c.store.Apply(ctx, dst, checks)
	}
	asked := moment{c.now(), c.denials.epoch.Load()}
	var buf [8]*denialEntry
	known := c.denials.find(buf[:0], checks)
	if results, ok := c.answer(dst, checks, known, asked.at); ok {
		c.saved.Add(1)
		return results, nil
	}
	results, err := c.store.Apply(ctx, dst, checks)
	if err == nil && len(results) == len(dst)+len(checks) {
		c.learn(checks, results[len(dst):], known, asked)
	}
	return results, err
}

// undoes tells whether a request gives something back.
func undoes(checks []seawall.Check) bool {
	for i := range checks {
		if checks[i].Op > seawall.Peek {
			return true
		}
	}
	return false
}

// forget has no denial believed of any key of the request, whatever its rule.
func (c *DenyCache) forget(checks []seawall.Check) {
	for i := range checks {
		c.denials.forget(checks[i].Key)
	}
}

// answer appends the results of a request that what is known decides. A Peek neither decides nor may stay
// unanswered.
func (c *DenyCache) answer(dst []seawall.Result, checks []seawall.Check, known []*denialEntry, now time.Duration) ([]seawall.Result, bool) {
	denied, spends := false, false
	for i := range checks {
		check := &checks[i]
		res, ok := c.denials.answer(known[i], check, now)
		switch {
		case check.Op == seawall.Peek:
			if !ok {
				return dst, false
			}
		case check.Advisory && !denied:
			return dst, false
		default:
			spends = true
			denied = denied || ok
		}
		if !ok {
			res = unasked(check)
		}
		dst = append(dst, res)
	}
	return dst, denied || !spends && len(checks) > 0
}

// unasked is the result of a check that nobody evaluates, since another one denies the request.
func unasked(check *seawall.Check) seawall.Result {
	if fixed, ok := check.Rule.(seawall.Constant); ok && !check.CountOnly {
		return fixed.Answer()
	}
	return seawall.Result{Admitted: true, Fallback: true}
}

// learn remembers what was denied. Where something was spent, or was denied in a way that is not remembered, what
// was known of the limit is no longer exact.
func (c *DenyCache) learn(checks []seawall.Check, results []seawall.Result, known []*denialEntry, asked moment) {
	for i := range checks {
		check, res := &checks[i], &results[i]
		switch {
		case lasts(check, res):
			c.denials.remember(known[i], check, res, asked)
		case (res.Committed || !res.Admitted) && c.denials.believes(known[i], check.Key, asked.at):
			c.denials.forget(check.Key)
		}
	}
}

// Release implements seawall.Store.
func (c *DenyCache) Release(ctx context.Context, leases ...seawall.Lease) error {
	return c.store.Release(ctx, leases...)
}

// String is the store's name.
func (c *DenyCache) String() string {
	if s, ok := c.store.(fmt.Stringer); ok {
		return s.String()
	}
	return "store"
}

// Prepare implements seawall.Preparer, if the store does.
func (c *DenyCache) Prepare(checks []seawall.Check) {
	if p, ok := c.store.(seawall.Preparer); ok {
		p.Prepare(checks)
	}
}

// Join implements seawall.Member, if the store does.
func (c *DenyCache) Join(workers int64) {
	if m, ok := c.store.(seawall.Member); ok {
		m.Join(workers)
	}
}

// Fleet implements seawall.Member: as the store sees it, otherwise this instance alone.
func (c *DenyCache) Fleet() seawall.Fleet {
	if m, ok := c.store.(seawall.Member); ok {
		return m.Fleet()
	}
	return seawall.Fleet{Instances: 1}
}

// Close closes the store, if it can be closed.
func (c *DenyCache) Close(ctx context.Context) error {
	if s, ok := c.store.(interface {
		Close(ctx context.Context) error
	}); ok {
		return s.Close(ctx)
	}
	return nil
}
