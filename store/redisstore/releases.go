package redisstore

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

const (
	// linger is how long a release waits for company, unless somebody waits for it.
	linger = time.Millisecond
	// full is how many releases go out at once without lingering; maxBatch how many fit into one call.
	full, maxBatch = 64, 512
	// some is how many releases are worth a call, if one goes out anyway.
	some = 8
	// maxQueue bounds the releases that wait for Redis; beyond it the oldest are left to their TTL.
	maxQueue = 100_000
	// maxRetried is how many of those whose slot was nobody's are tried again when leases are looked through.
	maxRetried = 8 * maxBatch
	// renewEvery is how often leases are looked through for those due; a third of the shortest TTL.
	renewEvery = 333 * time.Millisecond
	// backoff is how long failed releases wait before they are tried again, at first; twice as long each time, up to
	// maxBackoff.
	backoff, maxBackoff = 100 * time.Millisecond, time.Second
	// batchTimeout bounds one call of the queue.
	batchTimeout = time.Second
)

// releases is the queue of what is to be given back. What is queued when a worker sends calls goes out with
// them; the rest is sent by one goroutine, which also renews what is held. A renewal never overtakes the
// release of the same lease.
type releases struct {
	mu     sync.Mutex
	queue  []release
	stuck  []release // their slot is nobody's for now, or on its way to another master
	claims map[uint64]claim
	urgent bool
	wake   chan struct{}
	resume chan struct{} // Redis answers: there is no point in waiting any longer

	refused atomic.Pointer[callError] // by Redis, which otherwise works; nil: not
}

// release is a lease to give back. It is kept until Redis confirms it, also beyond the lease's TTL: an acquire
// that was sent before a freeze runs at the thaw, and its lease lives from then on. done, if not nil, is closed
// when Redis has confirmed it, or when it is left to expire.
type release struct {
	lease  seawall.Lease
	done   chan struct{}
	handed bool // by another lane of a cluster, and not sent yet
}

// claim is a lease to take, because its request holds it whether or not Redis knows.
type claim struct {
	lease seawall.Lease
	known known
}

// known is what Redis may know of a lease.
type known uint8

const (
	unheard known = iota // it was never asked for it
	asked                // it may have been asked for it
	granted              // it has granted it
)

// over tells who waits that the lease is gone.
func (r *release) over() {
	if r.done != nil {
		close(r.done)
	}
}

func (r *releases) init() { r.wake, r.resume = make(chan struct{}, 1), make(chan struct{}, 1) }

// add queues a lease. With done, it goes out at once.
func (r *releases) add(l seawall.Lease, done chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) >= maxQueue {
		r.queue[0].over()
		r.queue = r.queue[1:]
	}
	r.queue = append(r.queue, release{lease: l, done: done})
	r.urgent = r.urgent || done != nil
	r.signal()
}

// claim queues leases that their requests hold whether or not Redis knows, because the calls that asked for
// them were not answered, or not made: they are taken at once, beyond the cap if need be, so that others see what
// is in flight.
func (r *releases) claim(k known, leases ...seawall.Lease) {
	if len(leases) == 0 { // nothing to wake the queue for
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claims == nil {
		r.claims = map[uint64]claim{}
	}
	for _, l := range leases {
		if len(r.claims) < maxQueue { // what does not fit is taken by the next renewal
			r.claims[l.ID] = claim{l, k}
		}
	}
	r.signal()
}

// unclaim forgets the claim of a lease, and tells whether there was one that Redis has never heard of.
func (r *releases) unclaim(id uint64) (undone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.claims[id]
	delete(r.claims, id)
	return ok && c.known == unheard
}

// claimed tells whether the lease is claimed.
func (r *releases) claimed(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.claims[id]
	return ok
}

// takeClaims returns what is claimed: what Redis has granted before, and the rest.
func (r *releases) takeClaims() (before, others []seawall.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.claims {
		if c.known == granted {
			before = append(before, c.lease)
		} else {
			others = append(others, c.lease)
		}
	}
	r.claims = nil
	return before, others
}

func (r *releases) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// answered has what failed tried again at once. Those who decide by Redis again take slots, and would find them full of
// those that wait to be given back.
func (r *releases) answered() {
	select {
	case r.resume <- struct{}{}:
	default:
	}
}

// ready tells whether there is something to do, and whether it should go out at once.
func (r *releases) ready() (waiting, now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue)+len(r.claims) > 0, r.urgent || len(r.queue) >= full || len(r.claims) > 0
}

// queued tells whether there are releases that can be sent.
func (r *releases) queued() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0
}

// many tells whether the releases are worth a call of their own.
func (r *releases) many() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.urgent || len(r.queue) >= some
}

// take returns the next batch.
func (r *releases) take() []release {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), maxBatch)
	batch := r.queue[:n:n]
	if r.queue = r.queue[n:]; len(r.queue) == 0 {
		r.queue, r.urgent = nil, false
	}
	return batch
}

// putBack queues what failed ahead of the rest.
func (r *releases) putBack(batch []release) {
	if len(batch) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(batch, r.queue...)
	r.urgent = false
	r.signal()
}

// queueAgain queues a release that was queued elsewhere.
func (r *releases) queueAgain(again release) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, again)
	r.signal()
}

// setAside keeps what cannot go out for a fault of its own slot out of the others' way.
func (r *releases) setAside(batch []release) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stuck = append(r.stuck, batch...)
	if over := len(r.stuck) - maxQueue; over > 0 {
		for i := range r.stuck[:over] {
			r.stuck[i].over()
		}
		r.stuck = r.stuck[over:]
	}
}

// retry queues again so many at most of what was set aside.
func (r *releases) retry(most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := min(most, len(r.stuck)); n > 0 {
		r.queue = append(r.queue, r.stuck[:n]...)
		r.stuck = r.stuck[n:]
		r.signal()
	}
}
