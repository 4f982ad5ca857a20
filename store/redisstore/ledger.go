package redisstore

import (
	"sync"
	"time"

	"github.com/seawall-go/seawall"
)

// ledger remembers which leases this instance holds and when each wants to be renewed. The zero ledger is empty.
type ledger struct {
	mu    sync.Mutex
	held  map[uint64]entry
	fleet int64 // of them on FleetKey
}

type entry struct {
	lease seawall.Lease
	due   time.Time
}

// add remembers a lease taken or renewed at now.
func (l *ledger) add(lease seawall.Lease, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[uint64]entry{}
	}
	if old, known := l.held[lease.ID]; known && old.lease.Key == seawall.FleetKey() {
		l.fleet--
	}
	if lease.Key == seawall.FleetKey() {
		l.fleet++
	}
	l.held[lease.ID] = entry{lease, now.Add(lease.Rule.TTL() / 3)}
}

// remove forgets a lease, and returns it as it was added; ok is false if it was not held.
func (l *ledger) remove(id uint64) (lease seawall.Lease, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.held[id]
	if ok && e.lease.Key == seawall.FleetKey() {
		l.fleet--
	}
	delete(l.held, id)
	return e.lease, ok
}

// fleetHeld returns how many leases on FleetKey are held.
func (l *ledger) fleetHeld() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fleet
}

// holds tells whether a lease is held.
func (l *ledger) holds(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.held[id]
	return ok
}

// due returns the leases that have not been renewed for a third of their TTL, and takes them as renewed.
func (l *ledger) due(now time.Time) []seawall.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	var due []seawall.Lease
	for id, e := range l.held {
		if e.due.After(now) {
			continue
		}
		due = append(due, e.lease)
		l.held[id] = entry{e.lease, now.Add(e.lease.Rule.TTL() / 3)}
	}
	return due
}

// all returns every lease held.
func (l *ledger) all() []seawall.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]seawall.Lease, 0, len(l.held))
	for _, e := range l.held {
		all = append(all, e.lease)
	}
	return all
}
