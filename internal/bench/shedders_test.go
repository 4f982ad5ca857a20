package bench

import (
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zeromicro/go-zero/core/load"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/workershed"
)

// shedder is a candidate for shedding in process.
type shedder struct {
	name string
	// build makes it, for one that has plenty of room or next to none.
	build func(t testing.TB, plenty bool) (in func() (leave func(), ok bool), passes func() ask)
}

// The shedder through the engine is Seawall's line; alone it is without what the engine adds for any layer.
const (
	oursAlone = "workershed, without the engine"
	failsafe  = "failsafe-go, adaptive limiter"
	goZero    = "go-zero, adaptive shedder"
)

func shedderCandidates() []shedder {
	return []shedder{{ours, buildEngine}, {oursAlone, buildWorkershed}, {failsafe, buildFailsafe}, {goZero, buildAdaptive}}
}

func newWorkershed(t testing.TB, plenty bool) *workershed.Shedder {
	workers := int64(64)
	if !plenty {
		workers = 8
	}
	s, err := workershed.New(workershed.Config{Workers: workers})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func buildEngine(t testing.TB, plenty bool) (in func() (func(), bool), passes func() ask) {
	stack, err := seawall.New(seawall.Config{}, newWorkershed(t, plenty))
	require.NoError(t, err)
	ctx := t.Context()
	request := func() *seawall.Request { return &seawall.Request{Key: seawall.NewKey("caller")} }
	in = func() (func(), bool) {
		a := stack.Admit(ctx, request())
		return func() { a.Done(ctx) }, !a.Decision().Denied
	}
	return in, func() ask {
		r := request() // as a request's is: made for it
		return func(uint32) bool {
			a := stack.Admit(ctx, r)
			a.Done(ctx)
			return !a.Decision().Denied
		}
	}
}

func buildWorkershed(t testing.TB, plenty bool) (in func() (func(), bool), passes func() ask) {
	s := newWorkershed(t, plenty)
	enter := func(r *seawall.Request) (seawall.Ticket, bool) {
		res, ticket := s.Enter(r, seawall.Enforce)
		if res.Admitted {
			res, ticket = s.Begin(ticket, false)
		}
		return ticket, res.Admitted
	}
	request := func() *seawall.Request { return &seawall.Request{Key: seawall.NewKey("caller")} }
	in = func() (func(), bool) {
		ticket, ok := enter(request())
		return func() { s.Leave(ticket) }, ok
	}
	return in, func() ask {
		r := request()
		return func(uint32) bool {
			ticket, ok := enter(r)
			s.Leave(ticket)
			return ok
		}
	}
}

func buildFailsafe(_ testing.TB, plenty bool) (in func() (func(), bool), passes func() ask) {
	b := adaptivelimiter.NewBuilder[any]()
	if plenty {
		b = b.WithLimits(64, 1000, 64)
	} else {
		b = b.WithLimits(1, 8, 8)
	}
	l := b.Build()
	in = func() (func(), bool) {
		p, ok := l.TryAcquirePermit()
		return func() { p.Record() }, ok
	}
	return in, func() ask {
		return func(uint32) bool {
			p, ok := l.TryAcquirePermit()
			if ok {
				p.Record()
			}
			return ok
		}
	}
}

// buildAdaptive has one with little room take any processor for overloaded: then more in flight than it has seen pass are shed.
func buildAdaptive(_ testing.TB, plenty bool) (in func() (func(), bool), passes func() ask) {
	var o []load.ShedderOption
	if !plenty {
		o = append(o, load.WithCpuThreshold(0))
	}
	s := load.NewAdaptiveShedder(o...)
	in = func() (func(), bool) {
		p, err := s.Allow()
		return func() { p.Fail() }, err == nil
	}
	return in, func() ask {
		return func(uint32) bool {
			p, err := s.Allow()
			if err == nil {
				p.Pass()
			}
			return err == nil
		}
	}
}

// sheds asserts that a candidate refuses when too much is in flight, and what it has let in at first.
func (c shedder) sheds(t *testing.T) {
	t.Helper()
	in, _ := c.build(t, false)
	refused := false
	for n := range 1000 {
		leave, ok := in()
		if !ok {
			refused = true
			break
		}
		if n >= 20 { // so many stay; the others go, since a shedder may learn by those that do
			leave()
		}
	}
	require.True(t, refused, "%s: more than 20 in flight are let in by a shedder for 8", c.name)
	in, _ = c.build(t, true)
	leave, ok := in()
	require.True(t, ok, "%s: the first request", c.name)
	leave()
}

// shedders is about what it takes to count a request in and out.
func (b *bench) shedders(t *testing.T) {
	var subjects []subject
	once := map[string]float64{}
	for _, c := range shedderCandidates() {
		c.sheds(t)
		_, passes := c.build(t, true)
		one := passes()
		once[c.name] = allocations(2000, func() { one(0) })
		subjects = append(subjects, subject{c.name, func(d time.Duration) figures {
			ns, refused := together(d, goroutines, strike, shuffled(1), passes)
			assert.Zero(t, refused, "%s: there is room", c.name)
			return figures{cost: ns}
		}})
	}
	s := interleave(b.rnd, b.pace.rounds, b.pace.round, subjects...)
	for _, c := range shedderCandidates() {
		b.rec.Shedders = append(b.rec.Shedders, Row{Name: c.name, Ns: s.of(c.name, cost), Allocs: once[c.name]})
	}
	peer := s.best(cost, false, failsafe, goZero)
	ratio := s.ratio(cost, ours, peer.Name)
	b.line(Line{Name: "shedder", Ours: s.of(ours, cost), Peer: peer, Ratio: &ratio})
}
