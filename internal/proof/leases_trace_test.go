package proof

import (
	"time"

	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/proof/model"
)

// leasesBegin is when traces of leases begin: long before now, or a store that knows the time would take its scripts
// for late.
var leasesBegin = time.Date(2011, 12, 29, 20, 0, 0, 0, time.UTC).UnixMicro()

// walk takes so many steps at most, and comes to an end.
func (w *leaseWorld) walk(t *rapid.T, most int, between func()) {
	w.set(leasesBegin + rapid.Int64Range(0, 3_600_000_000).Draw(t, "start µs"))
	for range oneOf(t, "steps", most, rapid.IntRange(1, most).Draw(t, "steps")) {
		w.set(w.drawMove(t))
		between()
		w.step(t)
	}
	w.end(t)
}

// step is one thing that happens.
func (w *leaseWorld) step(t *rapid.T) {
	instance := rapid.IntRange(0, len(w.keepers[0].instances())-1).Draw(t, "instance")
	switch p := rapid.IntRange(0, 39).Draw(t, "step is"); { // small ones are drawn more often
	case p <= 18:
		w.ask(t, instance, w.drawRequest(t))
	case p <= 28:
		w.releaseSome(t, instance)
	case p <= 34:
		w.renewSome(t, instance)
	case p == 35 && w.manner.crashes:
		w.crash(instance)
	case p == 36 && !w.manner.calm:
		d := oneOf(t, "desk", w.desks...)
		w.ask(t, instance, []request{{desk: d, rule: d.rules[0], cost: 1, op: seawall.Reset}})
	case p == 37 && !w.manner.calm:
		w.lose(t)
	case p == 38 && !w.manner.calm && len(w.keepers) == 1 && w.keepers[0].keepsLedger():
		w.claim(t, instance)
	default:
		w.ask(t, instance, w.drawRequest(t))
	}
}

// drawMove draws where the clock goes: nowhere, to where a lease ends or is due, or just beside it, somewhere, and,
// if it may, back.
func (w *leaseWorld) drawMove(t *rapid.T) int64 {
	move := rapid.IntRange(0, 9).Draw(t, "move")
	if !w.manner.backwards && move >= 8 {
		move -= 8
	}
	to := w.now
	switch {
	case move <= 2:
	case move <= 4 && len(w.held) > 0: // to its end
		to = oneOf(t, "lease", w.held...).until*1000 + oneOf[int64](t, "beside", 0, -1, -1000, 999)
	case move == 5 && len(w.held) > 0: // to its renewal
		to = oneOf(t, "lease", w.held...).due.UnixMicro() + oneOf[int64](t, "beside", 0, 1, -1)
	case move <= 6:
		to += upTo(t, "µs on", time.Second.Microseconds())
	case move == 7:
		to += upTo(t, "µs on", 2*mostTTL.Microseconds())
	case move == 8:
		return to - rapid.Int64Range(0, 2_000_000).Draw(t, "µs back")
	case move == 9:
		return to - upTo(t, "µs back", 3*mostTTL.Microseconds())
	}
	return max(w.now, to)
}

// drawRequest draws a request of one check or several, each on another desk.
func (w *leaseWorld) drawRequest(t *rapid.T) (checks []request) {
	first := oneOf(t, "desk", w.desks...)
	checks = append(checks, w.drawCheck(t, first))
	for _, other := range w.desks {
		if other != first && odds(t, "and "+other.name, 3) {
			checks = append(checks, w.drawCheck(t, other))
		}
	}
	return checks
}

func (w *leaseWorld) drawCheck(t *rapid.T, d *desk) request {
	r := request{desk: d, rule: oneOf(t, "rule", d.rules...)}
	limit := r.rule.explained.Limit()
	r.cost = max(1, oneOf(t, "cost", d.last.Remaining, d.last.Remaining+1, limit, limit+1, 1, 1, 1, upTo(t, "cost", min(limit, 5))))
	if odds(t, "peek", 6) {
		r.op = seawall.Peek
	}
	r.advisory, r.countOnly, r.timed = odds(t, "advisory", 5), odds(t, "count only", 12), odds(t, "timed", 3)
	return r
}

// releaseSome gives back one lease or some, perhaps again, or from an instance that never had it, or one that never
// was.
func (w *leaseWorld) releaseSome(t *rapid.T, instance int) {
	var some []*holding
	for _, h := range w.held {
		if h.instance == instance && !h.crashed && !h.released && len(some) < 4 && rapid.Bool().Draw(t, "release") {
			some = append(some, h)
		}
	}
	if len(w.held) > 0 && odds(t, "another", 4) {
		if h := oneOf(t, "which", w.held...); !h.crashed || h.instance != instance {
			some = append(some, h) // perhaps one that is in the list, or was released before
		}
	}
	if odds(t, "one that never was", 6) {
		d := w.desks[0]
		w.lastID++
		some = append(some, &holding{request: request{desk: d, rule: d.rules[0], cost: 1, id: w.lastID}, instance: -1})
	}
	if len(some) > 0 {
		w.release(t, instance, some...)
	}
}

// renewSome renews what is due; where an instance is told what to renew, any of what it holds.
func (w *leaseWorld) renewSome(t *rapid.T, instance int) {
	told := len(w.keepers) == 1 && w.keepers[0].keepsLedger()
	var some []*holding
	for _, h := range w.held {
		if h.instance != instance || !h.live() || h.forgot {
			continue
		}
		if told && rapid.Bool().Draw(t, "renew") || !told && !h.due.After(time.UnixMicro(w.now)) {
			some = append(some, h)
		}
	}
	w.renew(t, instance, some)
}

// claim has an instance hold a lease that it was not granted, as after an outage.
func (w *leaseWorld) claim(t *rapid.T, instance int) {
	d := oneOf(t, "desk", w.desks...)
	r := request{desk: d, rule: oneOf(t, "rule", d.rules...)}
	s, ok := r.rule.slots()
	if !ok {
		return
	}
	w.lastID++
	r.id, r.cost = w.lastID, upTo(t, "cost", min(s.Max+1, 5))
	h := &holding{request: r, instance: instance}
	w.held = append(w.held, h)
	d.disturbed = true
	w.renew(t, instance, []*holding{h})
}

// explain has the model decide.
func (w *leaseWorld) explain(checks []request, guesses []seawall.Result) []seawall.Result {
	var all []model.Check
	for _, c := range checks {
		all = append(all, c.explained())
	}
	return w.model.Apply(w.now, all, guesses)
}
