package workershed

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
)

func of(caller string, t seawall.Tier) *seawall.Request {
	return &seawall.Request{Key: seawall.NewKey(caller), Tier: t}
}

// TestUndecidedRequestsOfOneCallerTakeOneWorker is about whoever asks again at once whatever it is told.
func TestUndecidedRequestsOfOneCallerTakeOneWorker(t *testing.T) {
	for _, tier := range []seawall.Tier{seawall.Write, seawall.Critical} {
		s := newQuiet(t, Config{Workers: 8}) // 12 at most
		var tickets []seawall.Ticket
		refused := 0
		for range 50 {
			if _, ticket := s.Enter(of("storm", tier), seawall.Enforce); ticket != 0 {
				tickets = append(tickets, ticket)
			} else {
				refused++
			}
		}
		assert.Equal(t, 0.125, s.Utilization())
		if tier == seawall.Critical {
			assert.Zero(t, refused)
		} else {
			assert.Equal(t, 38, refused, "it could not have more than the hard cap at once, for itself")
		}
		for i := range 11 {
			res, ticket := s.Enter(of("other-"+strconv.Itoa(i), seawall.Read), seawall.Enforce)
			assert.True(t, res.Admitted)
			tickets = append(tickets, ticket)
		}
		res, _ := s.Enter(of("another", seawall.Read), seawall.Enforce)
		assert.False(t, res.Admitted, "what is undecided of others has a reservation each")
		for _, ticket := range tickets {
			s.Leave(ticket) // the other layers have refused
		}
		assertEmpty(t, s)
	}
}

func assertEmpty(t *testing.T, s *Shedder) {
	t.Helper()
	assert.Zero(t, s.InFlight())
	assert.Zero(t, s.Utilization())
	for i := range s.undecided {
		assert.Zero(t, s.undecided[i].load())
	}
}

func TestWhoHadNoReservationIsRefusedWhenOthersHaveTakenTheWorkers(t *testing.T) {
	for mode, goesOn := range map[seawall.Mode]bool{seawall.Enforce: false, seawall.LogOnly: true} {
		s := newQuiet(t, Config{Workers: 2, HardCap: 1})
		_, first := s.Enter(of("a", seawall.Read), mode)
		_, second := s.Enter(of("a", seawall.Read), mode)
		_, other := s.Enter(of("b", seawall.Read), mode)
		res, first := s.Begin(first, false)
		assert.True(t, res.Admitted)
		res, other = s.Begin(other, false)
		assert.True(t, res.Admitted)
		res, second = s.Begin(second, false)
		assert.False(t, res.Admitted)
		assert.Equal(t, goesOn, second != 0)
		assert.Equal(t, 1.0, s.Utilization())
		_, critical := s.Enter(of("a", seawall.Critical), mode)
		res, critical = s.Begin(critical, false)
		assert.True(t, res.Admitted)
		for _, ticket := range []seawall.Ticket{first, second, other, critical} {
			s.Leave(ticket)
		}
		assertEmpty(t, s)
	}
}

// TestTheHardCapHoldsAmongCallersWithManyUndecidedRequests has other layers refuse most of them.
func TestTheHardCapHoldsAmongCallersWithManyUndecidedRequests(t *testing.T) {
	s := newQuiet(t, Config{Workers: 5, HardCap: 1})
	var handled, begun, late, beyond atomic.Int64
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			for i := range 2000 {
				r := of(strconv.Itoa(g%3), seawall.Write)
				_, ticket := s.Enter(r, seawall.Enforce)
				if ticket == 0 {
					continue
				}
				runtime.Gosched() // the store
				if i%4 > 0 {
					s.Leave(ticket)
					continue
				}
				res, ticket := s.Begin(ticket, false)
				if !res.Admitted {
					late.Add(1)
					continue
				}
				begun.Add(1)
				if handled.Add(1) > 5 {
					beyond.Add(1)
				}
				runtime.Gosched()
				handled.Add(-1)
				s.Leave(ticket)
			}
		})
	}
	all.Wait()
	t.Logf("%d handled, %d refused late", begun.Load(), late.Load())
	assert.Positive(t, begun.Load())
	assert.Zero(t, beyond.Load())
	assertEmpty(t, s)
}

// TestWhatOthersSpareIsNotInFlight: in log-only mode, a request that another log-only layer would refuse is handled all
// the same, and would not be had both been enforced.
func TestWhatOthersSpareIsNotInFlight(t *testing.T) {
	s := newQuiet(t, Config{Workers: 2, HardCap: 1})
	_, first := s.Enter(request(seawall.Read), seawall.LogOnly)
	_, second := s.Enter(request(seawall.Read), seawall.LogOnly) // behind it, without a reservation
	_, critical := s.Enter(request(seawall.Critical), seawall.LogOnly)
	var tickets []seawall.Ticket
	for _, ticket := range []seawall.Ticket{first, second, critical} {
		res, ticket := s.Begin(ticket, true)
		assert.True(t, res.Admitted)
		assert.NotZero(t, ticket)
		tickets = append(tickets, ticket)
	}
	assert.Zero(t, s.Utilization())
	assert.EqualValues(t, 3, s.InFlight())
	res, ticket := handle(s, request(seawall.Read), seawall.LogOnly)
	assert.True(t, res.Admitted, "there is room")
	assert.Equal(t, 0.5, s.Utilization())
	for _, ticket := range append(tickets, ticket) {
		s.Leave(ticket)
	}
	assert.Zero(t, s.InFlight())
}
