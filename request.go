package seawall

import "slices"

// Tier is how important a request is; shedders drop from the bottom. The zero value is Read.
type Tier int8

// The tiers, from the first to be shed to the one that never is.
const (
	TestMode Tier = iota - 1
	Read
	Write
	Critical
)

// tierNames is indexed by tier, from the bottom.
var tierNames = [...]string{"test", "read", "write", "critical"}

// String returns "test", "read", "write" or "critical".
func (t Tier) String() string {
	if t < TestMode || t > Critical {
		return "unknown"
	}
	return tierNames[t-TestMode]
}

// Request is what the limiters know of one HTTP request. It is built once per request and not changed while
// a decision is made. It must not be shared between requests.
type Request struct {
	// Key is the caller. A zero Key is not limited per caller.
	Key Key
	// More are further keys that a policy may ask for, such as account and address of a login.
	More []Key
	// Tier is how important the request is; zero is Read.
	Tier Tier
	// Route is the matched route's pattern, never the raw path; empty is an unmatched route.
	Route string
	// LongLived tells that the request lasts as long as its client likes, such as a WebSocket or a stream of events. It has
	// caps of its own, and is outside the fleet's and this instance's workers.
	LongLived bool
	// Cost is what a rate limit charges; zero is 1.
	Cost int64
	// Plan is the plan that the caller has, for policies that do not say otherwise: see ratelimit.Policy and
	// concurrency.Policy. Empty is the ordinary one.
	Plan string
	// Name is what the application calls the caller in front of its own people: it appears in reports, and nowhere else.
	// Empty is none.
	Name string
	// Authenticated tells whether Key stands for a caller whose identity was verified.
	Authenticated bool

	visits *visits
	own    visits
}

// Continue makes r count as the same HTTP request as earlier, for middlewares that are mounted one by one:
// a limit or a local layer that earlier has met, and whose Admission is not done yet, is not evaluated again.
func (r *Request) Continue(earlier *Request) {
	if earlier.visits == nil {
		earlier.newVisits()
	}
	r.visits = earlier.visits
}

// visits are the names of the limits and local layers that an HTTP request has met and not yet left.
type visits struct {
	names []string
	buf   [6]string
}

func (r *Request) newVisits() {
	r.own.names = r.own.buf[:0]
	r.visits = &r.own
}

// first tells whether this HTTP request meets name for the first time, and remembers it.
func (r *Request) first(name string) bool {
	if r.visits == nil {
		r.newVisits()
	}
	if slices.Contains(r.visits.names, name) {
		return false
	}
	r.visits.names = append(r.visits.names, name)
	return true
}

// met returns how many names are remembered.
func (r *Request) met() int {
	if r.visits == nil {
		return 0
	}
	return len(r.visits.names)
}

// forget leaves only the first n names: a request that is tried again, one level up, is a new question.
func (r *Request) forget(n int) {
	if r.visits != nil && n < len(r.visits.names) {
		r.visits.names = r.visits.names[:n]
	}
}

// Units returns the cost, at least 1.
func (r *Request) Units() int64 { return max(1, r.Cost) }
