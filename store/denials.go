package store

import (
	"reflect"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/seawall-go/seawall"
)

const (
	defaultDenialKeys = 65_536
	defaultDenialAge  = time.Second
	longestDenialAge  = 10 * time.Second
	// maxDenialCosts is of how many costs the denials of one limit are kept.
	maxDenialCosts = 4
	// denialStripes is in how many parts keys are forgotten; see denials.forget.
	denialStripes = 1024
)

// denials are those that a DenyCache knows, by limit and caller.
type denials struct {
	maxAge    time.Duration
	entries   *otter.Cache[denialKey, *denialEntry]
	epoch     atomic.Uint64                // counts how often a key was forgotten
	forgotten [denialStripes]atomic.Uint64 // the epoch in which a key of the stripe last was
}

// denialKey is a limit of a caller.
type denialKey struct {
	key   seawall.Key
	limit *seawall.Limit
}

// denialEntry is what is known of one limit of a caller. It is never changed, only replaced.
type denialEntry struct {
	rule    seawall.Rule // comparable
	denials []denial     // of different costs, the latest first
}

// denial is one answer of the store.
type denial struct {
	cost   int64
	asked  moment // before the store was
	until  time.Duration
	result seawall.Result
}

// moment is a time, and which epoch it was.
type moment struct {
	at    time.Duration
	epoch uint64
}

// newDenials returns an empty set. Its cache works on the goroutines of its callers, and has no clock: that a
// denial is over is seen by who finds it.
func newDenials(maxKeys int, maxAge time.Duration) (*denials, error) {
	entries, err := otter.New(&otter.Options[denialKey, *denialEntry]{
		MaximumSize: maxKeys,
		Executor:    func(work func()) { work() },
	})
	if err != nil {
		return nil, err
	}
	return &denials{maxAge: maxAge, entries: entries}, nil
}

// forget has nothing believed of a key that was asked before now, nor of those that share its stripe. It needs no
// look-up, and also reaches answers that are still on their way.
func (d *denials) forget(key seawall.Key) {
	epoch, last := d.epoch.Add(1), &d.forgotten[key.Hash()%denialStripes]
	for old := last.Load(); old < epoch && !last.CompareAndSwap(old, epoch); old = last.Load() {
	}
}

// find appends what is kept for each check, or nil. For leases and constants nothing is.
func (d *denials) find(dst []*denialEntry, checks []seawall.Check) []*denialEntry {
	for i := range checks {
		var e *denialEntry
		if remembers(checks[i].Rule) {
			e, _ = d.entries.GetIfPresent(denialKey{checks[i].Key, checks[i].Limit})
		}
		dst = append(dst, e)
	}
	return dst
}

// remembers tells whether what the rule denies can be known for a while. Slots come back at any time, and what
// is constant needs no memory.
func remembers(r seawall.Rule) bool {
	switch r.(type) {
	case seawall.Holder, seawall.Constant:
		return false
	}
	return true
}

// lasts tells whether a result is a denial that holds for a while.
func lasts(c *seawall.Check, res *seawall.Result) bool {
	return !res.Admitted && !res.Fallback && !c.CountOnly && (res.RetryAfter > 0 || res.RetryAfter == seawall.Never) &&
		remembers(c.Rule) && reflect.ValueOf(c.Rule).Comparable()
}

// remember keeps what was denied, together with what is already known of other costs.
func (d *denials) remember(known *denialEntry, c *seawall.Check, res *seawall.Result, asked moment) {
	age := d.maxAge
	for _, change := range []time.Duration{res.RetryAfter, res.NextAfter, res.ResetAfter} {
		if change > 0 { // not Never, and known
			age = min(age, change)
		}
	}
	e := &denialEntry{rule: c.Rule, denials: []denial{{c.Cost, asked, asked.at + age, *res}}}
	if known != nil && known.rule == c.Rule {
		for i := range known.denials {
			if old := &known.denials[i]; old.cost != c.Cost && len(e.denials) < maxDenialCosts {
				e.denials = append(e.denials, *old)
			}
		}
	}
	d.entries.Set(denialKey{c.Key, c.Limit}, e)
}

// believes tells whether anything that is kept still holds.
func (d *denials) believes(e *denialEntry, key seawall.Key, now time.Duration) bool {
	if e == nil {
		return false
	}
	for i := range e.denials {
		if d.holds(&e.denials[i], key, now) {
			return true
		}
	}
	return false
}

// holds tells whether a denial is neither over nor forgotten.
func (d *denials) holds(one *denial, key seawall.Key, now time.Duration) bool {
	return now < one.until && d.forgotten[key.Hash()%denialStripes].Load() <= one.asked.epoch
}

// answer returns what the store would tell the check, if that is known.
func (d *denials) answer(e *denialEntry, c *seawall.Check, now time.Duration) (res seawall.Result, ok bool) {
	if e == nil || c.CountOnly || e.rule != c.Rule {
		return res, false
	}
	for i := range e.denials {
		one := &e.denials[i]
		wait, ok := one.wait(c.Cost)
		if !ok || !d.holds(one, c.Key, now) {
			continue
		}
		res = one.result
		res.RetryAfter, res.Repeated = wait, true
		since := max(0, now-one.asked.at).Truncate(time.Microsecond)
		for _, left := range []*time.Duration{&res.RetryAfter, &res.NextAfter, &res.ResetAfter} {
			if *left > 0 {
				*left -= since
			}
		}
		return res, true
	}
	return res, false
}

// wait returns the RetryAfter that a cost would have been told in place of the denied one; ok is false if that is
// not known. A smaller cost might have been admitted. A greater one was denied, too, but how long it waits is known
// only if it can never fit, or if everything comes back together.
func (one *denial) wait(cost int64) (wait time.Duration, ok bool) {
	res := &one.result
	switch {
	case cost == one.cost:
		return res.RetryAfter, true
	case cost < one.cost:
		return 0, false
	case cost > res.Limit:
		return seawall.Never, true
	}
	return res.RetryAfter, res.RetryAfter == res.ResetAfter
}
