package redisstore_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// chores has a store do all that it does, and collects what failed.
type chores struct {
	t        *testing.T
	s        *redisstore.Store
	patience time.Duration // with releases, which are tried again and again
	failed   []error
}

func (c *chores) note(what string, err error) {
	if err != nil {
		c.failed = append(c.failed, fmt.Errorf("%s: %w", what, err))
	}
}

// ask applies a check, which should be admitted or not, and returns it with its id.
func (c *chores) ask(what string, check seawall.Check, admitted bool) seawall.Check {
	checks := []seawall.Check{check}
	checks[0].Timed = true
	results, err := c.s.Apply(short(c.t, soon), nil, checks)
	c.note(what, err)
	if err == nil && results[0].Admitted != admitted {
		c.note(what, fmt.Errorf("admitted: %v; want %v", results[0].Admitted, admitted))
	}
	return checks[0]
}

func (c *chores) release(what string, check seawall.Check) {
	l := leaseOf(check)
	l.Last = true
	c.note(what, c.s.Release(short(c.t, c.patience), l))
}

// with returns the check with another operation.
func with(c seawall.Check, op seawall.Op) seawall.Check {
	c.Op = op
	return c
}

// allOf does all of it on the client, and returns what failed.
func allOf(t *testing.T, client *redis.Client, names *redisstore.Compact, patience time.Duration) error {
	t.Helper()
	open := func() *redisstore.Store {
		s, err := redisstore.NewTuned(redisstore.Config{
			Client: client, Namespace: "test", Compact: names, Logger: slog.New(slog.DiscardHandler),
		}, time.Hour, time.Minute)
		require.NoError(t, err)
		return s
	}
	other, s := open(), open()
	c := &chores{t: t, s: s, patience: patience}
	s.Join(4)
	s.Prepare([]seawall.Check{bucket(t, "a", ratelimit.PerDay(1), 2), lease(t, "a", 1, 0)})
	c.note("heartbeat", errors.Join(other.Beat(), s.Beat()))
	if n := s.Fleet().Instances; n != 2 {
		c.note("heartbeat", fmt.Errorf("%d instances; want 2", n))
	}
	c.note("probe", s.Probe(short(t, soon)))
	for _, quota := range []ratelimit.Quota{
		ratelimit.TokenBucket(ratelimit.PerDay(2), 2), ratelimit.SlidingLog(2, day),
		ratelimit.SlidingCounter(2, day), ratelimit.FixedWindow(2, ratelimit.Every(day)),
	} {
		check := spends(t, quota.String(), quota)
		c.ask(quota.String(), check, true)
		spent := c.ask(quota.String(), check, true)
		c.ask(quota.String(), check, false)
		c.ask(quota.String()+", peek", with(check, seawall.Peek), false)
		c.ask(quota.String()+", refund", with(spent, seawall.Refund), true)
		c.ask(quota.String()+", refunded", check, true)
		c.ask(quota.String()+", reset", with(check, seawall.Reset), true)
		c.ask(quota.String()+", afresh", check, true)
	}
	c.slots()
	c.note("close", errors.Join(s.Close(short(t, soon)), other.Close(short(t, soon))))
	return errors.Join(c.failed...)
}

// slots takes, refuses, renews and gives back slots of every kind.
func (c *chores) slots() {
	slots := lease(c.t, "slots", 2, time.Minute)
	rule := slots.Rule.(*concurrency.Slots)
	weighted, waits := lease(c.t, "weighted", 2, time.Minute), lease(c.t, "waits", 1, time.Minute)
	weighted.Rule, weighted.Cost = rule.Weighted(), 2
	first, err := concurrency.NewSlots(1, time.Minute)
	require.NoError(c.t, err)
	waits.Limit, waits.Rule = limit(c.t, concurrency.Name, "line"), first.Queue(0, 0) // one that has no letter

	one, two := c.ask("slot", slots, true), c.ask("slot", slots, true)
	c.ask("slot", slots, false)
	c.note("renewal", c.s.RenewNow(short(c.t, soon), leaseOf(one), leaseOf(two)))
	c.release("slot", one)
	c.release("slot", two)

	both := c.ask("weighted", weighted, true)
	c.ask("weighted", weighted, false)
	c.release("weighted", both)

	served := c.ask("queue", waits, true)
	waits.Rule = first.Queue(7, 0)
	waiting := c.ask("queue", waits, false)
	c.ask("queue, left", with(waiting, seawall.Refund), true)
	c.release("queue", served)

	var fleet []seawall.Check
	for range 3 {
		fleet = append(fleet, c.ask("fleet", slot(c.t, 4, 0.25), true))
	}
	c.ask("fleet", slot(c.t, 4, 0.25), false)
	for _, check := range fleet {
		c.release("fleet", check)
	}
}
