package workershed

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
)

func TestHardCapRefusesAllButCritical(t *testing.T) {
	s := newQuiet(t, Config{Workers: 10})
	tickets := enterAll(s, 15, seawall.Read, seawall.Enforce)
	assert.NotContains(t, tickets, seawall.Ticket(0))
	for _, tier := range []seawall.Tier{seawall.TestMode, seawall.Read, seawall.Write} {
		res, ticket := handle(s, request(tier), seawall.Enforce)
		assert.Equal(t, seawall.Result{RetryAfter: time.Second, Limit: 10}, res, tier)
		assert.Zero(t, ticket)
	}
	tickets = append(tickets, enterAll(s, 50, seawall.Critical, seawall.Enforce)...)
	assert.EqualValues(t, 65, s.InFlight(), "critical is counted, and never refused")
	for i, ticket := range tickets {
		fits := s.InFlight() < 15
		res, another := handle(s, request(seawall.Write), seawall.Enforce)
		assert.Equal(t, fits, res.Admitted, "after %d left", i)
		s.Leave(another)
		s.Leave(ticket)
	}
	assert.Zero(t, s.InFlight())
}

func TestHardCapIsExactUnderConcurrency(t *testing.T) {
	s := newQuiet(t, Config{Workers: 100})
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 200 {
				if res, _ := handle(s, request(seawall.Write), seawall.Enforce); res.Admitted {
					admitted.Add(1)
				}
				assert.LessOrEqual(t, s.InFlight(), int64(150), "not even for a moment")
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 150, admitted.Load())
	assert.EqualValues(t, 150, s.InFlight())
}

func TestHardCapIsExactWhileRequestsComeAndGo(t *testing.T) {
	s := newQuiet(t, Config{Workers: 2, HardCap: 1})
	var running, entered, beyond atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 2000 {
				_, ticket := handle(s, request(seawall.Write), seawall.Enforce)
				if ticket == 0 {
					continue
				}
				entered.Add(1)
				if running.Add(1) > 2 {
					beyond.Add(1)
				}
				runtime.Gosched()
				running.Add(-1)
				s.Leave(ticket)
			}
		})
	}
	wg.Wait()
	assert.Positive(t, entered.Load())
	assert.Zero(t, beyond.Load())
	assert.Zero(t, s.InFlight())
}

func TestInFlightReturnsToZero(t *testing.T) {
	s := newQuiet(t, Config{Workers: 8})
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 300 {
				s.setLevel(float64(i%11) / 10)
				r := &seawall.Request{Key: seawall.NewKey("a"), Tier: seawall.Tier((g+i)%4 - 1)}
				_, ticket := handle(s, r, seawall.Mode(g%3))
				s.Leave(ticket)
			}
		})
	}
	wg.Wait()
	assert.Zero(t, s.InFlight())
	assert.Zero(t, s.Utilization())
}

func TestHardCapInLogOnlyIsReachedOnce(t *testing.T) {
	s := newQuiet(t, Config{Workers: 4})
	tickets := enterAll(s, 20, seawall.Read, seawall.LogOnly)
	assert.EqualValues(t, 20, s.InFlight())
	assert.Equal(t, 1.5, s.Utilization())
	for _, ticket := range tickets {
		s.Leave(ticket)
	}
	assert.Zero(t, s.InFlight())
}
