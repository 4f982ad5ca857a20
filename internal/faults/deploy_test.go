package faults

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/openloop"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// deploys are the faults of two versions of a program that run at once.
func deploys() []fault {
	return []fault{{
		number: 54, name: "Rolling deploy", injection: "two versions of the scripts, `SCRIPT FLUSH` now and then; two versions of a policy",
		promise: usual + ", with no fallback; one caller gets ≤ a burst more than the larger limit, or than both if the policy has a new name", short: true,
		run: rollingDeploy,
	}}
}

func rollingDeploy(t *testing.T, r *row) {
	server := redistest.Start(t)
	s, c := setup{url: server.URL()}, admin(t, server)
	s.differs = func(i int, s setup) setup {
		s.next = i == 1
		return s
	}
	r.survives(t, s, outage{
		name: "scripts",
		inject: func() {
			for end := time.Now().Add(thePace().faulty); time.Now().Before(end); time.Sleep(50 * time.Millisecond) { // scripts are forgotten now and then
				do(t, c, "SCRIPT", "FLUSH")
			}
		},
		heal: func() {}, brief: true,
	})
	assert.Positive(t, server.CommandCalls(t, "echo"), "scripts of the next version ran")

	bucket := ratelimit.TokenBucket(ratelimit.PerSecond(changedRate), changedRate)
	for _, c := range []change{
		{name: "a bucket's rate and burst halved", before: bucket, after: ratelimit.TokenBucket(ratelimit.PerSecond(changedRate/2), changedRate/2), times: 1},
		{name: "another algorithm and name", before: bucket, after: ratelimit.SlidingCounter(changedRate, time.Second), as: "api-2", times: 2},
		{name: "a counter's limit halved", before: ratelimit.SlidingCounter(changedRate, time.Second), after: ratelimit.SlidingCounter(changedRate/2, time.Second), times: 1},
		{name: "a log's limit halved", before: ratelimit.SlidingLog(changedRate, time.Second), after: ratelimit.SlidingLog(changedRate/2, time.Second), times: 1},
		// See "Two versions at once" in docs/algorithms.md.
		{name: "a bucket's burst halved", before: bucket, after: ratelimit.TokenBucket(ratelimit.PerSecond(changedRate), changedRate/2)},
		{name: "another algorithm", before: bucket, after: ratelimit.SlidingCounter(changedRate, time.Second)},
	} {
		if long() || c.times > 0 && c.before == bucket {
			r.changed(t, c)
		}
	}
}

// changedRate is what the larger of two versions of a limit admits in a second, and at once.
const changedRate = 50

// change is a policy that one of two instances has in another version.
type change struct {
	name          string
	before, after ratelimit.Quota // the larger one first
	as            string          // the policy's new name, if it has one
	times         int             // the larger limit is how often promised; 0: nothing is
}

// changed has one caller ask two instances far more often than it may, one of which has the policy's next version.
func (r *row) changed(t *testing.T, c change) {
	t.Helper()
	g := newRig(t, setup{url: redistest.Start(t).URL(), api: c.before, differs: func(i int, s setup) setup {
		if i == 1 {
			s.api, s.policy, s.next = c.after, cmp.Or(c.as, s.policy), true
		}
		return s
	}})
	g.ready(t)
	var admitted, alone atomic.Int64
	rec := openloop.Run(t.Context(), openloop.Load{Rate: 500, For: thePace().faulty}, func(i int) {
		switch c := g.spend(g.instances[i%instances], g.callers[0], 1); {
		case c.denied:
		case c.fallback:
			alone.Add(1)
		default:
			admitted.Add(1)
		}
	})
	limit := changedRate + int(changedRate*time.Since(rec.Began).Seconds())
	assert.Zero(t, g.failed(), "fallbacks")
	r.settled(t, g)
	if c.times == 0 {
		r.note("%s: %d of %d admitted, the larger limit is %d: not promised", c.name, admitted.Load(), len(rec.Samples), limit)
		return
	}
	r.note("%s: %d of %d admitted, the larger limit is %d", c.name, admitted.Load(), len(rec.Samples), limit)
	assert.LessOrEqual(t, int(admitted.Load()), c.times*limit+changedRate+int(alone.Load()), c.name)
	assert.Greater(t, int(admitted.Load()+alone.Load()), changedRate/2, "somebody is served")
}

// nextVersion is the store of an instance whose program is newer: the text of every script is another one, and what they
// keep in Redis is the same.
type nextVersion struct{ *redisstore.Store }

// Apply implements seawall.Store.
func (s *nextVersion) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	newer := nextChecks(checks)
	dst, err := s.Store.Apply(ctx, dst, newer)
	for i := range checks {
		if c := &checks[i]; c.ID != newer[i].ID || c.At != newer[i].At { // others may be reading what stays as it is
			c.ID, c.At = newer[i].ID, newer[i].At
		}
	}
	return dst, err
}

// Release implements seawall.Store.
func (s *nextVersion) Release(ctx context.Context, leases ...seawall.Lease) error {
	return s.Store.Release(ctx, nextLeases(leases)...)
}

// Claim implements seawall.Claimer.
func (s *nextVersion) Claim(leases ...seawall.Lease) { s.Store.Claim(nextLeases(leases)...) }

// Prepare implements seawall.Preparer.
func (s *nextVersion) Prepare(checks []seawall.Check) { s.Store.Prepare(nextChecks(checks)) }

// nextChecks are the checks, by rules of the next version.
func nextChecks(checks []seawall.Check) []seawall.Check {
	newer := slices.Clone(checks)
	for i := range newer {
		if h, ok := newer[i].Rule.(seawall.Holder); ok {
			newer[i].Rule = nextHolder{h}
		} else {
			newer[i].Rule = nextRule{newer[i].Rule}
		}
	}
	return newer
}

// nextLeases are the leases, of rules of the next version.
func nextLeases(leases []seawall.Lease) []seawall.Lease {
	newer := slices.Clone(leases)
	for i := range newer {
		newer[i].Rule = nextHolder{newer[i].Rule}
	}
	return newer
}

type nextRule struct{ seawall.Rule }

// Script implements seawall.Rule.
func (n nextRule) Script() string { return nextText(n.Rule) }

type nextHolder struct{ seawall.Holder }

// Script implements seawall.Rule.
func (n nextHolder) Script() string { return nextText(n.Holder) }

// introductions are the lines that introduce sections which run.
var introductions = regexp.MustCompile(`(?m)^--@(check|commit|gather|releases|renew)$`)

// nextText is the rule's text with a further command in each section, one that Redis counts and that changes nothing.
func nextText(r seawall.Rule) string {
	return introductions.ReplaceAllString(r.Script(), "$0\nredis.call('ECHO', 'next')")
}
