package workershed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

// pool is a service of ten workers with a line before it, in steps of 50 ms; a request takes four of them. All are in log-only
// mode, one in two is out.
type pool struct {
	shedder *Shedder
	step    func(time.Duration)
	now     time.Duration
	line    []seawall.Ticket
	busy    []seawall.Ticket
	left    []int // steps of each
	arrived int
}

func newPool(t *testing.T) *pool {
	s, step, err := NewStepped(Config{Workers: 10})
	require.NoError(t, err)
	return &pool{shedder: s, step: step}
}

// run has n requests arrive each step, and sheds the share level of them.
func (p *pool) run(n int, level float64, d time.Duration) {
	for range d / (50 * time.Millisecond) {
		p.now += 50 * time.Millisecond
		for i := 0; i < len(p.busy); {
			if p.left[i]--; p.left[i] > 0 {
				i++
				continue
			}
			p.shedder.Leave(p.busy[i])
			p.busy = append(p.busy[:i], p.busy[i+1:]...)
			p.left = append(p.left[:i], p.left[i+1:]...)
		}
		for range n {
			p.arrived++
			r := &seawall.Request{Key: callers(100)[p.arrived%100], Tier: seawall.Read}
			_, ticket := p.shedder.Enter(r, seawall.LogOnly)
			_, ticket = p.shedder.Begin(ticket, false)
			p.line = append(p.line, ticket)
		}
		for len(p.line) > 0 && len(p.busy) < 10 {
			p.busy, p.left, p.line = append(p.busy, p.line[0]), append(p.left, 4), p.line[1:]
		}
		if p.now%tick == 0 {
			p.step(p.now)
			p.shedder.setLevel(level)
		}
	}
}

func TestWhatIsSparedDoesNotMakeTheKeptOnesCount(t *testing.T) {
	p := newPool(t)
	p.run(1, 0, 30*time.Second)
	assert.InDelta(t, 0.4, p.shedder.Utilization(), 0.11)
	assert.Zero(t, p.shedder.phantoms.load())

	p.run(3, 1./3+1./6, time.Minute) // 12 workers' worth of reads, of which half are shed
	require.Greater(t, p.shedder.InFlight(), int64(100), "it drowns")
	require.Greater(t, p.shedder.kept.load(), int64(50), "and so do those that are kept")
	assert.InDelta(t, 0.6, p.shedder.Utilization(), 0.25, "under enforcement they would not")

	p.run(1, 0, 2*time.Minute) // until the line is empty
	assert.Less(t, p.shedder.InFlight(), int64(10))
	assert.Zero(t, p.shedder.phantoms.load())
	assert.InDelta(t, 0.4, p.shedder.Utilization(), 0.11)
}

// TestWhereNothingWaitsNothingIsAPhantom has twice as many requests in flight as workers, all of which take as long as ever.
func TestWhereNothingWaitsNothingIsAPhantom(t *testing.T) {
	s, step, err := NewStepped(Config{Workers: 10})
	require.NoError(t, err)
	var running [4][]seawall.Ticket
	for i := range 400 {
		for _, ticket := range running[i%4] {
			s.Leave(ticket)
		}
		running[i%4] = nil
		n := 1
		if i > 200 {
			n = 5
		}
		for j := range n {
			r := &seawall.Request{Key: callers(100)[(5*i+j)%100], Tier: seawall.Read}
			_, ticket := s.Enter(r, seawall.LogOnly)
			_, ticket = s.Begin(ticket, false)
			running[i%4] = append(running[i%4], ticket)
		}
		step(time.Duration(i+1) * tick)
		s.setLevel(0.5)
		require.Zero(t, s.phantoms.load(), "step %d", i)
	}
	require.EqualValues(t, 20, s.InFlight())
	require.Positive(t, s.spared.load())
}

func TestPhantomsNeverOutnumberTheKept(t *testing.T) {
	s := newQuiet(t, Config{Workers: 2})
	s.full.Store(&saturation{needed: 2, share: 1})
	s.setLevel(1)
	var spared []seawall.Ticket
	for range 5 {
		_, ticket := handle(s, request(seawall.Read), seawall.LogOnly)
		spared = append(spared, ticket)
	}
	_, kept := handle(s, request(seawall.Critical), seawall.LogOnly)
	for _, ticket := range spared {
		s.Leave(ticket)
	}
	assert.EqualValues(t, 1, s.phantoms.load())
	assert.Zero(t, s.Utilization())
	s.Leave(kept)
	assert.Zero(t, s.phantoms.load())
	assert.Zero(t, s.Utilization())
}
