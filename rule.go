package seawall

import (
	"strconv"
	"time"
)

// Rule is the arithmetic of one limit: immutable, and safe for concurrent use. It has a check half, which
// reads, and a commit half, which writes; each in Go for stores in memory and as a Lua block for Redis. What
// both check halves observe is all that [Rule.Result] needs, so what a caller is told is computed in one
// place.
type Rule interface {
	// Kind names the algorithm; rules of one kind share a state format, and those of them that have as many arguments a
	// script. A state of another kind counts as none.
	Kind() string
	// Check observes the state and tells whether the check's cost fits. It spends nothing, and changes nothing but
	// what a clock that stepped back or a changed limit left behind, to make what it tells come true.
	Check(s *State, env Env, c *Check) (seen Observation, ok bool)
	// Commit spends the check's cost. It is called under the same lock and with the same env as Check.
	Commit(s *State, env Env, c *Check)
	// Idle tells whether the state at time now equals that of a key never seen, so that it may be dropped.
	Idle(s *State, now int64) bool
	// Result says what a caller is told: pure in its arguments.
	Result(seen Observation, ok, committed bool, env Env, c *Check) Result
	// Script returns the Lua sections of this kind; see the package redisstore for their form.
	Script() string
	// Args appends the script's arguments for c: as many for every check of the rule with the same Op.
	Args(dst []any, env Env, c *Check) []any
}

// Observation is what a check half saw: a few whole numbers whose meaning is the rule's.
type Observation [4]int64

// Holder is a Rule whose commits are held until they are released: a lease. A store renews what it holds
// every third of TTL, and drops what was not renewed for TTL.
type Holder interface {
	Rule
	// TTL is how long a lease outlives its last renewal.
	TTL() time.Duration
	// Release removes the lease with the given id, if it is there.
	Release(s *State, id uint64)
	// Renew makes those leases of the state last from env.Now for the TTL that they were taken for that have not been renewed
	// for a third of it, and returns when there will be such again.
	Renew(s *State, env Env) (next int64)
	// Lapse has all leases of the state expired, until they are due to be renewed.
	Lapse(s *State)
	// Held returns how many slots the leases of the state take at env.Now.
	Held(s *State, env Env) int64
}

// Stepper is a Rule whose state is State.Word alone, so that a store in memory can decide without a lock: it takes the
// word, and puts back what becomes of it if nobody else has changed it meanwhile. The least two numbers are no words.
// Its values can be compared.
type Stepper interface {
	Rule
	// Step is Check, and what Commit would make of the word then. unspent is what Check leaves of it.
	Step(word, now int64, c *Check) (unspent, spent int64, ok bool)
	// Tell fills in the zero res with the Result about what Check sees of the word; what is admitted is committed.
	Tell(res *Result, word, now int64, ok bool, c *Check)
}

// Refunder is a Rule whose commits can be taken back, as if they had never been.
type Refunder interface {
	Rule
	// Refund takes back what an earlier check, with the Cost and ID of c, committed at c.At. It gives back less
	// rather than more than the limit would have had.
	Refund(s *State, env Env, c *Check)
}

// Sharer is a Rule that can be decided without the shared store, by what this instance knows itself.
type Sharer interface {
	Rule
	// Share returns the rule of what instance i of n, counted from 0, may use on its own. The shares of all
	// instances sum up to the limit, as [Portion] does; so if there are more instances than the limit allows
	// requests, some have none. (A bucket's rate is divided; of its burst each has one token at least.) A cost that fits the limit but not the share takes all of the share.
	Share(i, n int64) Rule
	// Bounds tells whether the limit also bounds what this instance holds by itself. Of rates, which hold
	// nothing, it does not matter.
	Bounds() bool
}

// Portion is the part of instance i, counted from 0, if n instances share total: whole numbers that differ by
// one at most and sum up to total.
func Portion(total, i, n int64) int64 {
	part := total / n
	if i < total%n {
		part++
	}
	return part
}

// Constant is a Rule whose answer depends on nothing that a store keeps, so that it also stands when the
// store cannot be asked: a block.
type Constant interface {
	Rule
	// Answer is what every check of the rule is told.
	Answer() Result
}

// Env is what a store tells a rule: its clock, its fleet and who asks.
type Env struct {
	// Now is the store's clock in nanoseconds since the Unix epoch. On stores that decide elsewhere it is a
	// guess in Args, which a script can turn down, and zero in Result.
	Now int64
	// Capacity is Fleet.Capacity as last seen; 0 is unknown.
	Capacity int64
	// Instance is a short text unique to the store's instance; empty of a store in memory, which nobody shares.
	Instance string
}

// Member is the name of a commit with the given id among those of all instances.
func (e Env) Member(id uint64) string { return e.Instance + strconv.FormatUint(id, 36) }

// State is what a store in memory keeps for one key of one rule. The zero value is a key never seen.
type State struct {
	// Word is for rules whose state is one integer.
	Word int64
	// More is for rules that keep more.
	More any
}

// Op is what a check does to the state.
type Op uint8

// The operations. All but Spend neither veto nor are vetoed.
const (
	Spend  Op = iota // decide, and commit
	Peek             // decide as Spend would, and commit nothing
	Refund           // take back an earlier commit; the Rule is a Refunder
	Reset            // forget the state
)

// Check asks whether one request fits into one limit. It is data; a store evaluates all the checks of a
// request in one atomic step.
type Check struct {
	Limit *Limit
	Rule  Rule
	Key   Key
	// Cost is at least 1.
	Cost int64
	// Advisory checks never veto; they commit only if every check admits.
	Advisory bool
	// CountOnly checks always admit.
	CountOnly bool
	// ID identifies what the check commits, where that is more than a number: a Holder's lease, an entry of a log. There
	// Apply sets it, unless it is set already, to a number that the store does not know.
	ID uint64
	// Op is what the check does; zero is Spend.
	Op Op
	// Timed asks Apply to set At.
	Timed bool
	// At is when the store decided, in nanoseconds of its clock since the Unix epoch; of a Refund, which goes to the
	// store that spent, when it decided about what is taken back.
	At int64
}

// Lease returns the lease that the check takes if it commits; ok is false if it takes none.
func (c *Check) Lease() (l Lease, ok bool) {
	h, ok := c.Rule.(Holder)
	return Lease{Limit: c.Limit, Rule: h, Key: c.Key, Cost: c.Cost, ID: c.ID}, ok && c.Op == Spend
}

// Mode is that in which the check is made: Enforce or LogOnly.
func (c *Check) Mode() Mode {
	if c.Advisory {
		return LogOnly
	}
	return Enforce
}

// Caller returns whom the check is about: its own key, or that of r where all callers share one.
func (c *Check) Caller(r *Request) Key {
	if c.Key.IsZero() || c.Key.text == fleetText {
		return r.Key
	}
	return c.Key
}

// FailsClosed tells whether the check refuses its request if the store cannot be asked.
func (c *Check) FailsClosed() bool { return !c.Advisory && c.Limit.onFailure == FailClosed }

// Never is the RetryAfter of a cost that can never fit.
const Never time.Duration = -1

// Result is a store's answer to one check. It describes the state that the decision left. Of a Refund and a
// Reset only Admitted and Committed are set.
type Result struct {
	// Admitted tells whether this check alone admits.
	Admitted bool
	// Committed tells whether its cost was spent, or its lease taken.
	Committed bool
	// Last tells that a lease took one of the last slots, so that its release is worth waiting for.
	Last bool
	// Fallback tells that the shared store did not decide, and that the numbers are no caller's business.
	Fallback bool
	// Repeated tells that the answer is an earlier one, which a wrapper of the store knows to hold still.
	Repeated bool
	// Limit is the most that fits, in units of cost.
	Limit int64
	// Remaining is what would still fit now, at least 0.
	Remaining int64
	// RetryAfter is when the same check alone will admit: zero if it does now, Never if it cannot. Rates
	// state it exactly, rounded up to a microsecond; leases estimate it.
	RetryAfter time.Duration
	// NextAfter is when Remaining will next grow; zero if it cannot or is not known.
	NextAfter time.Duration
	// ResetAfter is when the state will equal that of a key never seen; zero if not known.
	ResetAfter time.Duration
}
