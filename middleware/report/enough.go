package report

import (
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// shortfall finds the smallest limit that would have let all requests of a caller through. A greater limit would have
// admitted what was refused, and its caller would owe that as well: excess, on top of what the store has counted as used.
type shortfall struct {
	rule   seawall.Rule
	limit  int64
	excess int64         // refused, and not drained: of a bucket in nanoseconds, otherwise in units of cost
	drains time.Duration // when the store's state is that of a caller never seen, by the recorder's clock
	enough int64
}

// see takes in the answer to a request that no other limit refuses.
func (s *shortfall) see(now time.Duration, c *seawall.Check, res *seawall.Result) {
	if s.rule != c.Rule { // a limit that has changed is another question
		*s = shortfall{rule: c.Rule, limit: res.Limit}
	}
	if res.Fallback {
		return
	}
	switch c.Rule.Kind() {
	case "bucket":
		s.bucket(now, c, res)
	case "window":
		s.window(now, c, res)
	case "lease":
		s.slots(c, res)
	}
}

// bucket: what is owed drains at the rate, first what was used and then what was refused.
func (s *shortfall) bucket(now time.Duration, c *seawall.Check, res *seawall.Result) {
	rule, ok := c.Rule.(ratelimit.Rule)
	if !ok || rule.Limit() == 0 {
		return
	}
	full := rule.Window()
	token := int64(full) / rule.Limit()
	s.excess = max(0, s.excess-int64(max(0, now-s.drains)))
	s.drains = now + res.ResetAfter
	if !res.Admitted {
		s.excess += c.Cost * token
	}
	if s.excess > 0 {
		s.needs(int64(res.ResetAfter)+s.excess, token)
	}
}

// window: all is forgotten when the window ends.
func (s *shortfall) window(now time.Duration, c *seawall.Check, res *seawall.Result) {
	if now >= s.drains {
		s.excess = 0
	}
	s.drains = now + res.ResetAfter
	if !res.Admitted {
		s.excess += c.Cost
	}
	if s.excess > 0 {
		s.needs(res.Limit-res.Remaining+s.excess, 1)
	}
}

// slots: what was refused in log-only mode is in flight all the same, until it has finished. What was refused in earnest
// would have been for a time that nobody knows.
func (s *shortfall) slots(c *seawall.Check, res *seawall.Result) {
	if !res.Admitted && c.Advisory {
		s.excess += c.Cost
	}
	if s.excess > 0 {
		s.needs(res.Limit-res.Remaining+s.excess, 1)
	}
}

// finished takes back what slots has counted for a request that is done.
func (s *shortfall) finished(c *seawall.Check, res *seawall.Result) {
	if s.rule == c.Rule && c.Advisory && !res.Admitted && !res.Fallback {
		s.excess = max(0, s.excess-c.Cost)
	}
}

// needs notes that a limit of owed/unit would have been needed.
func (s *shortfall) needs(owed, unit int64) { s.enough = max(s.enough, (owed+unit-1)/unit) }
