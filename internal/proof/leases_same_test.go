package proof

import (
	"testing"

	"pgregory.net/rapid"
)

// TestLeasesOnRedisAreTheModel walks one to three instances on one Redis, and the model, through traces in which
// everything happens: clocks step back, data is lost, instances crash, rules change.
func TestLeasesOnRedisAreTheModel(t *testing.T) {
	drawsOrLong(50, 1500)
	redis := keepOnRedis(t, 3)
	var names callers
	var seen leaseTally
	traces := 0
	for name, m := range map[string]manner{
		"clocks step back": {backwards: true, crashes: true, mixed: true},
		"keys expire":      {crashes: true, oneTTL: true, mixed: true},
		"calm":             {calm: true, crashes: true, oneTTL: true},
	} {
		t.Run(name, func(t *testing.T) {
			redis.clock.Expire(!m.backwards)
			rapid.Check(t, func(t *rapid.T) {
				k := redis.some(rapid.IntRange(1, 3).Draw(t, "instances"))
				w := newLeaseWorld(m, drawDesks(t, &names, m), k)
				w.walk(t, 40, func() {})
				seen.add(w.seen)
				traces++
			})
		})
	}
	t.Logf("%d traces: %+v", traces, seen)
}

// TestLeasesInMemoryAreTheModel does so with a store in memory, whose ledger says by the same clock what is due.
func TestLeasesInMemoryAreTheModel(t *testing.T) {
	drawsOrLong(150, 8000)
	var names callers
	var seen leaseTally
	traces := 0
	for name, m := range map[string]manner{
		"clocks step back": {backwards: true, mixed: true},
		"it is swept":      {mixed: true},
		"calm":             {calm: true},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				k := keepInMemory()
				w := newLeaseWorld(m, drawDesks(t, &names, m), k)
				w.walk(t, 60, func() {
					if !m.backwards && odds(t, "sweep", 4) {
						k.store.Sweep()
					}
				})
				seen.add(w.seen)
				traces++
			})
		})
	}
	t.Logf("%d traces: %+v", traces, seen)
}

// TestLeasesOnBothStoresAreTheSame walks both in step, as far as one can do what the other can.
func TestLeasesOnBothStoresAreTheSame(t *testing.T) {
	drawsOrLong(40, 1500)
	redis := keepOnRedis(t, 1)
	var names callers
	var seen leaseTally
	traces := 0
	rapid.Check(t, func(t *rapid.T) {
		m := manner{backwards: true, calm: rapid.Bool().Draw(t, "calm")}
		w := newLeaseWorld(m, drawDesks(t, &names, m), keepInMemory(), redis)
		w.walk(t, 40, func() {})
		seen.add(w.seen)
		traces++
	})
	t.Logf("%d traces: %+v", traces, seen)
}

func (a *leaseTally) add(b leaseTally) {
	a.asked += b.asked
	a.granted += b.granted
	a.refused += b.refused
	a.released += b.released
	a.renewed += b.renewed
	a.lost += b.lost
	a.crashes += b.crashes
	a.losses += b.losses
}
