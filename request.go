package seawall

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
	// LongLived tells that the request lasts as long as its client likes, such as a WebSocket or a stream of events. It has
	// caps of its own, and is outside the fleet's and this instance's workers.
	LongLived bool
	// Authenticated tells whether Key stands for a caller whose identity was verified.
	Authenticated bool
	// Route is the matched route's pattern, never the raw path; empty is an unmatched route.
	Route string
	// Cost is what a rate limit charges; zero is 1.
	Cost int64
	// Plan is the plan that the caller has, for policies that do not say otherwise: see ratelimit.Policy and
	// concurrency.Policy. Empty is the ordinary one.
	Plan string
	// Name is what the application calls the caller in front of its own people: it appears in reports, and nowhere else.
	// Empty is none.
	Name string

	earlier *Request // as which it continues
	visits  visits
}

// Continue makes r count as the same HTTP request as earlier, for middlewares that are mounted one by one:
// a limit or a local layer that earlier has met, and whose Admission is not done yet, is not evaluated again.
func (r *Request) Continue(earlier *Request) { r.earlier = earlier }

// first tells whether this HTTP request meets a limit, or what stands for a local layer, for the first time, and remembers
// it.
func (r *Request) first(l *Limit) bool {
	if r.visits.has(l) {
		return false
	}
	for q := r.earlier; q != nil; q = q.earlier {
		if q.visits.shows(l) {
			return false
		}
	}
	r.visits.add(l)
	return true
}

// Units returns the cost, at least 1.
func (r *Request) Units() int64 { return max(1, r.Cost) }
