package seawall

import (
	"sync"
	"time"
)

// Ledger remembers which leases an instance holds and when each wants to be renewed. It is for
// implementations of Store. The zero Ledger is empty; it is safe for concurrent use.
type Ledger struct {
	mu    sync.Mutex
	held  map[uint64]entry
	fleet int64 // of them on FleetKey
}

type entry struct {
	lease Lease
	due   time.Time
}

// Add remembers a lease taken or renewed at now.
func (l *Ledger) Add(lease Lease, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[uint64]entry{}
	}
	if old, known := l.held[lease.ID]; known && old.lease.Key.text == fleetText {
		l.fleet--
	}
	if lease.Key.text == fleetText {
		l.fleet++
	}
	l.held[lease.ID] = entry{lease, now.Add(lease.Rule.TTL() / 3)}
}

// Remove forgets a lease, and returns it as it was added; ok is false if it was not held.
func (l *Ledger) Remove(id uint64) (lease Lease, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.held[id]
	if ok && e.lease.Key.text == fleetText {
		l.fleet--
	}
	delete(l.held, id)
	return e.lease, ok
}

// Fleet returns how many leases on FleetKey are held.
func (l *Ledger) Fleet() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fleet
}

// Holds tells whether a lease is held.
func (l *Ledger) Holds(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.held[id]
	return ok
}

// Due returns the leases that have not been renewed for a third of their TTL, and takes them as renewed.
func (l *Ledger) Due(now time.Time) []Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	var due []Lease
	for id, e := range l.held {
		if e.due.After(now) {
			continue
		}
		due = append(due, e.lease)
		l.held[id] = entry{e.lease, now.Add(e.lease.Rule.TTL() / 3)}
	}
	return due
}

// All returns every lease held.
func (l *Ledger) All() []Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Lease, 0, len(l.held))
	for _, e := range l.held {
		all = append(all, e.lease)
	}
	return all
}
