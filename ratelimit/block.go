package ratelimit

import (
	"time"

	"github.com/seawall-go/seawall"
)

// block is a rule that admits nothing: that of PlanBlock, and the share of who gets none.
type block struct{ retryAfter time.Duration }

var _ seawall.Constant = block{}

// Answer implements seawall.Constant.
func (b block) Answer() seawall.Result { return seawall.Result{RetryAfter: b.retryAfter} }

// Kind implements seawall.Rule.
func (block) Kind() string { return "block" }

// Check implements seawall.Rule.
func (block) Check(*seawall.State, seawall.Env, *seawall.Check) (seawall.Observation, bool) {
	return seawall.Observation{}, false
}

// Commit implements seawall.Rule.
func (block) Commit(*seawall.State, seawall.Env, *seawall.Check) {}

// Refund implements seawall.Refunder.
func (block) Refund(*seawall.State, seawall.Env, *seawall.Check) {}

// Idle implements seawall.Rule.
func (block) Idle(*seawall.State, int64) bool { return true }

// Result implements seawall.Rule.
func (b block) Result(_ seawall.Observation, ok, committed bool, _ seawall.Env, _ *seawall.Check) seawall.Result {
	return seawall.Result{Admitted: ok, Committed: committed, RetryAfter: b.retryAfter}
}

// Script implements seawall.Rule.
func (block) Script() string {
	return "--@observes\n0\n--@check\nlocal $ok = false\n--@commit\nlocal $none\n--@refund\nlocal $none\n"
}

// Args implements seawall.Rule.
func (block) Args(dst []any, _ seawall.Env, _ *seawall.Check) []any { return dst }
