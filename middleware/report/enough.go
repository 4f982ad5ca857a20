package report

import (
	"math"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// shortfall finds the smallest limit that would have let all requests of a caller through. A greater limit would have
// admitted what was refused, and its caller would owe that as well: excess, on top of what the store has counted as used.
type shortfall struct {
	terms   terms
	excess  int64         // refused, and not drained: of a bucket in nanoseconds, otherwise in units of cost
	shared  int64         // the same, if others see the caller too, and each drains its share
	drains  time.Duration // when the store's state is that of a caller never seen, by the recorder's clock
	enough  int64
	atWorst int64 // by shared, as if others had had all of the limit used
}

// terms are what a rule allows. Rules of the same terms are one question, whoever made them.
type terms struct {
	kind   string
	limit  int64
	window time.Duration // zero where it does not matter, or changes by itself
}

func termsOf(rule seawall.Rule, limit int64) terms {
	t := terms{kind: rule.Kind(), limit: limit}
	if quota, ok := rule.(ratelimit.Rule); ok && t.kind != "window" {
		t.window = quota.Window()
	}
	return t
}

// perSecond is the rate that is allowed in the long run; zero where there is none.
func (t *terms) perSecond() float64 {
	if t.window <= 0 {
		return 0
	}
	return float64(t.limit) / t.window.Seconds()
}

// see takes in the answer to a request that no other limit refuses.
func (s *shortfall) see(now time.Duration, instances int64, c *seawall.Check, res *seawall.Result) {
	if res.Fallback {
		return
	}
	if t := termsOf(c.Rule, res.Limit); t != s.terms {
		*s = shortfall{terms: t}
	}
	switch s.terms.kind {
	case "bucket":
		s.bucket(now, instances, c, res)
	case "window":
		s.fixed(now, c, res)
	case "lease":
		s.slots(c, res)
	}
}

// bucket: what is owed drains at the rate, first what was used and then what was refused.
func (s *shortfall) bucket(now time.Duration, instances int64, c *seawall.Check, res *seawall.Result) {
	if s.terms.limit <= 0 || s.terms.window <= 0 {
		return
	}
	token := int64(s.terms.window) / s.terms.limit
	idle := int64(max(0, now-s.drains))
	s.excess, s.shared = max(0, s.excess-idle), max(0, s.shared-idle/instances)
	s.drains = now + res.ResetAfter
	if !res.Admitted {
		s.add(times(c.Cost, token))
	}
	used := max(0, res.ResetAfter-time.Microsecond+1) // it was rounded up
	s.needs(int64(used), token)
}

// fixed: all is forgotten when the window ends. A cost that exceeds the limit is remembered only where something else was
// used: otherwise the store does not say when that is.
func (s *shortfall) fixed(now time.Duration, c *seawall.Check, res *seawall.Result) {
	if res.ResetAfter == 0 {
		s.enough, s.atWorst = max(s.enough, c.Cost), max(s.atWorst, c.Cost)
		return
	}
	// Answers arrive sooner or later, but ends of windows are a whole window apart.
	quota, ok := c.Rule.(ratelimit.Rule)
	if end := now + res.ResetAfter; !ok || end-s.drains > quota.Window()/2 {
		s.excess, s.shared, s.drains = 0, 0, end
	}
	if !res.Admitted {
		s.add(c.Cost)
	}
	s.needs(res.Limit-res.Remaining, 1)
}

// slots: what was refused in log-only mode is in flight all the same, until it has finished. What was refused in earnest
// would have been for a time that nobody knows.
func (s *shortfall) slots(c *seawall.Check, res *seawall.Result) {
	if !res.Admitted && c.Advisory {
		s.add(c.Cost)
	}
	s.needs(res.Limit-res.Remaining, 1)
}

// finished takes back what slots has counted for a request that is done.
func (s *shortfall) finished(c *seawall.Check, res *seawall.Result) {
	if s.terms.kind == "lease" && c.Advisory && !res.Admitted && !res.Fallback {
		s.excess, s.shared = max(0, s.excess-c.Cost), max(0, s.shared-c.Cost)
	}
}

// add adds what was refused.
func (s *shortfall) add(owed int64) { s.excess, s.shared = plus(s.excess, owed), plus(s.shared, owed) }

// needs notes that a limit for what is used and the excess would have been needed, if there is excess.
func (s *shortfall) needs(used, unit int64) {
	if s.excess > 0 {
		s.enough = max(s.enough, units(plus(used, s.excess), unit))
	}
	if s.shared > 0 {
		s.atWorst = max(s.atWorst, plus(s.terms.limit, units(s.shared, unit)))
	}
}

// units is how many units owed are, rounded up.
func units(owed, unit int64) int64 {
	n := owed / unit
	if owed%unit > 0 {
		n++
	}
	return n
}

// plus and times are sums and products of what is not negative; what is too great is the greatest number.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
