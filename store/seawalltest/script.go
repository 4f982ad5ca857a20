package seawalltest

import (
	"time"

	"github.com/seawall-go/seawall"
)

// Answer has every check of the named layer or policy get r from now on. A policy's own answer comes before
// its layer's. The zero Result refuses; Result{Admitted: true} is what a check gets that nothing was said about.
func (s *Store) Answer(name string, r seawall.Result) {
	parse(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[string]seawall.Result{}
	}
	s.answers[name] = r
}

// Deny is Answer with a refusal that says when to come back: seawall.Never is never.
func (s *Store) Deny(name string, retryAfter time.Duration) {
	s.Answer(name, seawall.Result{RetryAfter: retryAfter})
}

// Fail has Apply return err from now on, as in an outage; nil ends it. Release goes on working, as it does
// in a store that gives back later.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault.err = err
}

// Delay has Apply wait for so long from now on before it answers, fails or panics, or until its ctx is done:
// then it returns an error that wraps ctx.Err(). So does Release if a lease took a last slot. Zero ends it.
// Without a delay nothing waits and ctx does not matter.
func (s *Store) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault.delay = d
}

// Panic has Apply panic with v from now on; nil ends it. It comes before Fail.
func (s *Store) Panic(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault.panics = v
}

// answer returns what the script says about a check, before it is known what commits.
func (s *Store) answer(c *seawall.Check) seawall.Result {
	if c.Op > seawall.Peek {
		return seawall.Result{Admitted: true, Committed: true}
	}
	res, ok := s.answers[c.Limit.Name()]
	if !ok {
		res, ok = s.answers[c.Limit.Layer()]
	}
	if !ok {
		res = seawall.Result{Admitted: true}
	}
	if c.Op == seawall.Spend && c.CountOnly && !res.Admitted {
		res.Admitted, res.RetryAfter = true, 0
	}
	return res
}
