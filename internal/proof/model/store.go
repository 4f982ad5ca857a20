package model

import "github.com/seawall-go/seawall"

// Check is one check of a request.
type Check struct {
	Rule                Rule
	Name                string // of the caller and the policy: whose past it is
	Cost                int64
	ID                  uint64
	Advisory, CountOnly bool
	Op                  seawall.Op
	At                  int64 // of a refund: when it was spent, in nanoseconds since the epoch
}

// Store keeps the pasts of callers. The zero Store is empty.
type Store struct {
	pasts map[string]kept
}

type kept struct {
	kind string
	past Past
}

func (s *Store) past(c Check) Past {
	if k, ok := s.pasts[c.Name]; ok && k.kind == c.Rule.Kind() {
		return k.past
	}
	return nil
}

// keep replaces a past. One of another kind makes room only for a spend.
func (s *Store) keep(c Check, p Past, spent bool) {
	if k, ok := s.pasts[c.Name]; ok && k.kind != c.Rule.Kind() && !spent {
		return
	}
	if s.pasts == nil {
		s.pasts = map[string]kept{}
	}
	s.pasts[c.Name] = kept{c.Rule.Kind(), p}
}

// New tells whether the caller of a check is now like one never seen. Such a past may be forgotten at any time.
func (s *Store) New(now int64, c Check) bool {
	k, ok := s.pasts[c.Name]
	return !ok || k.kind == c.Rule.Kind() && c.Rule.New(k.past, now)
}

// Apply decides a request whose checks have different names, and says what each check is told. Enforced checks
// spend if all enforced ones admit, advisory ones if all do. The guesses, one for each check or none at all,
// save it time; see first.
func (s *Store) Apply(now int64, checks []Check, guesses []seawall.Result) []seawall.Result {
	enforced, all := true, true
	fits, admitted := make([]bool, len(checks)), make([]bool, len(checks))
	for i, c := range checks {
		if c.Op > seawall.Peek {
			continue
		}
		fits[i] = !less(c.Rule.Left(s.past(c), now), whole(c.Cost))
		s.keep(c, c.Rule.Asked(s.past(c), now, fits[i]), false)
		admitted[i] = fits[i] || c.Op == seawall.Spend && c.CountOnly
		if c.Op == seawall.Spend {
			all = all && admitted[i]
			enforced = enforced && (admitted[i] || c.Advisory)
		}
	}
	results := make([]seawall.Result, len(checks))
	for i, c := range checks {
		guess := seawall.Result{}
		if i < len(guesses) {
			guess = guesses[i]
		}
		switch c.Op {
		case seawall.Reset:
			delete(s.pasts, c.Name)
			results[i] = seawall.Result{Admitted: true, Committed: true}
		case seawall.Refund:
			s.keep(c, c.Rule.Refund(s.past(c), now, c.Cost, c.ID, thousandths(c.At)), false)
			results[i] = seawall.Result{Admitted: true, Committed: true}
		default:
			spends := c.Op == seawall.Spend && (all || enforced && !c.Advisory)
			if spends {
				s.keep(c, c.Rule.Spend(s.past(c), now, c.Cost, c.ID), true)
			}
			results[i] = told(c, s.past(c), now, guess)
			results[i].Admitted, results[i].Committed = admitted[i], spends
			if admitted[i] {
				results[i].RetryAfter = 0
			}
			if spends && !fits[i] && c.Rule.Kind() == "log" { // a log does not say when it was overdrawn
				results[i].NextAfter = 0
			}
			if _, slots := c.Rule.(Slots); slots { // a quarter of them are the last ones
				results[i].Last = spends && !c.CountOnly && 4*results[i].Remaining <= c.Rule.Limit()
			}
		}
	}
	return results
}

// told is what a check is told of the past that it left, as if it had been refused.
func told(c Check, p Past, now int64, guess seawall.Result) seawall.Result {
	r := c.Rule
	if s, ok := r.(Slots); ok {
		return s.told(c, p, now)
	}
	p = r.Asked(p, now, false)
	res := seawall.Result{Limit: r.Limit(), Remaining: remaining(r, p, now), RetryAfter: seawall.Never}
	if c.Cost <= r.Limit() {
		res.RetryAfter = 0
		if fits := func(d int64) bool { return !less(r.Left(p, now+d), whole(c.Cost)) }; !fits(0) {
			res.RetryAfter = first(guess.RetryAfter, fits)
		}
	}
	if res.Remaining < r.Limit() {
		res.NextAfter = first(guess.NextAfter, func(d int64) bool { return remaining(r, p, now+d) > res.Remaining })
	}
	if !r.New(p, now) {
		res.ResetAfter = first(guess.ResetAfter, func(d int64) bool { return r.New(p, now+d) })
	}
	return res
}

// remaining is what would still fit, in whole units of cost.
func remaining(r Rule, p Past, now int64) int64 {
	return max(0, floor(r.Left(p, now)).Int64())
}
