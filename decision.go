package seawall

import "time"

// Decision is what becomes of a request. A refusal is a Decision, never an error.
type Decision struct {
	// Denied tells whether the request must be answered with a refusal; if not, the rest is zero.
	Denied bool
	// Layer and Policy name the first enforced refusal.
	Layer, Policy string
	// Cause is why.
	Cause Cause
	// RetryAfter is the longest wait of all enforced refusals, or Never.
	RetryAfter time.Duration
}

// retryUnavailable is what a client is told to wait when a limit that fails closed could not be asked.
const retryUnavailable = time.Second

// refusal is a Decision as the engine keeps it.
type refusal struct {
	layer      *layer // nil if the request is admitted
	limit      *Limit
	retryAfter time.Duration
	cause      Cause
}

func (v *refusal) denied() bool { return v.layer != nil }

// Decision returns what becomes of the request.
func (a *Admission) Decision() Decision {
	v := &a.refused
	if !v.denied() {
		return Decision{}
	}
	return Decision{Denied: true, Layer: v.layer.name, Policy: v.limit.policy, Cause: v.cause, RetryAfter: v.retryAfter}
}

// part is one layer's part in a decision: its checks, and what became of them.
type part struct {
	layer    *layer
	mode     Mode
	ticket   Ticket
	limit    *Limit // of its first check
	from, to int    // its checks that are asked; a local layer has one that stands for its verdict
	decisive int    // the check that the outcome is reported with, or -1
	outcome  Outcome
	holds    bool
}

// walk reads the parts in layer order and counts them as the package documentation says: the first
// refusal, after an advisory one also the first enforced one, and everything behind as skipped.
func (a *Admission) walk() {
	v := &a.refused
	advised := false // an advisory refusal came before
	for i := range a.parts {
		p := &a.parts[i]
		answered := a.answered(p)
		p.outcome, p.decisive = Allowed, p.from
		switch enforced := a.enforced(p); {
		case v.denied() || len(answered) == 0 || advised && enforced < 0:
			p.outcome, p.decisive = Skipped, -1
		case advised:
			p.decisive = enforced
		}
		for j := p.from; j < p.from+len(answered); j++ {
			switch res := &a.results[j]; {
			case res.Admitted:
			case a.checks[j].Advisory:
				if !advised && !v.denied() {
					advised = true
					p.outcome, p.decisive = WouldDeny, j
				}
			case v.denied():
				v.retryAfter = longest(v.retryAfter, res.RetryAfter)
			default:
				p.outcome, p.decisive = Denied, j
				*v = refusal{p.layer, a.checks[j].Limit, res.RetryAfter, p.layer.Cause()}
				if _, blocked := a.checks[j].Rule.(Constant); blocked {
					v.cause = CauseBlocked
				}
				if res.Fallback && a.checks[j].Limit.onFailure == FailClosed {
					v.cause = CauseUnavailable
				}
			}
		}
	}
}

// answered returns the results that the part has.
func (a *Admission) answered(p *part) []Result {
	return a.results[min(p.from, len(a.results)):min(p.to, len(a.results))]
}

// enforced returns the part's first check that could refuse, or -1.
func (a *Admission) enforced(p *part) int {
	for j := p.from; j < p.to; j++ {
		if !a.checks[j].Advisory {
			return j
		}
	}
	return -1
}

func longest(a, b time.Duration) time.Duration {
	if a == Never || b == Never {
		return Never
	}
	return max(a, b)
}
