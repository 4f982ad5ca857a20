package concurrency

import (
	_ "embed"
	"fmt"
	"time"

	"github.com/seawall-go/seawall"
)

//go:embed queue.lua
var queueLua string

// stay is how long a waiter stands in line without asking again. An instance that died while it waited holds up the
// others for so long, if a slot gets free.
const stay = time.Second

// The first in line asks again after a tenth of the time that it has been the first, the others after a twentieth of the
// time that they have waited: a slot that gets free at another instance is not left idle for long, whether it is held for
// milliseconds or minutes, and Redis is asked no more than it takes.
const (
	firstSoon, laterSoon   = 3 * time.Millisecond, 20 * time.Millisecond // at least
	firstShare, laterShare = 10, 20
	latest                 = 100 * time.Millisecond // at most; well below stay
)

// queue is the rule of slots with a line in front of them, seen by one who waits, or by one who does not.
type queue struct {
	*Slots
	waiter uint64 // 0: it does not wait
	waited time.Duration
}

var (
	_ seawall.Holder   = (*queue)(nil)
	_ seawall.Sharer   = (*queue)(nil)
	_ seawall.Refunder = (*queue)(nil)
)

// Queue returns the rule of the same slots with a line in front of them, for somebody who has waited for so long and asks
// again at least every half a second: if it is refused, it stands in line, and everybody is refused who came later. waiter
// is a random number; 0 is somebody who does not wait, and is behind all who do. A Refund leaves the line.
func (s *Slots) Queue(waiter uint64, waited time.Duration) seawall.Refunder {
	return &queue{s, waiter, waited}
}

// waiter is since when somebody waits and until when it stands in line, in milliseconds of the store's clock, and how
// many slots it wants.
type waiter struct{ since, until, slots int64 }

// stands tells whether the waiter is in line at ms. One who would be for longer than ever stems from before the clock
// stepped back.
func (w waiter) stands(ms int64) bool { return ms < w.until && w.until <= ms+stay.Milliseconds() }

// prepare makes the line ready for a change, without those who are not in it any more.
func (t *taken) prepare(ms int64) {
	if t.line == nil {
		t.line = map[uint64]waiter{}
	}
	for id, w := range t.line {
		if !w.stands(ms) {
			delete(t.line, id)
		}
	}
}

// Idle implements seawall.Rule.
func (q *queue) Idle(st *seawall.State, now int64) bool {
	if t, _ := st.More.(*taken); t != nil {
		for _, w := range t.line {
			if w.until > now/int64(time.Millisecond) {
				return false
			}
		}
	}
	return q.Slots.Idle(st, now)
}

// Kind implements seawall.Rule.
func (q *queue) Kind() string { return "queue" }

// ahead returns how many slots those want who are ahead in line.
func (q *queue) ahead(t *taken, ms int64) (n int64) {
	since := ms - q.waited.Milliseconds()
	for other, w := range t.line {
		if !w.stands(ms) || other == q.waiter {
			continue
		}
		if q.waiter == 0 || w.since < since || w.since == since && other < q.waiter {
			n += w.slots
		}
	}
	return n
}

// Check implements seawall.Rule; it observes how many slots are taken or waited for by those ahead, and how many by those
// ahead alone. Who waits, and is refused, stands in line.
func (q *queue) Check(st *seawall.State, env seawall.Env, c *seawall.Check) (seawall.Observation, bool) {
	ms, n, ahead := env.Now/int64(time.Millisecond), q.Held(st, env), int64(0)
	t, _ := st.More.(*taken)
	if t != nil {
		ahead = q.ahead(t, ms)
	}
	n += ahead
	ok := q.fits(n, q.takes(c.Cost))
	if !ok {
		q.Mend(st, env)
		if q.waiter != 0 && t != nil && q.bears(q.takes(c.Cost)) {
			t.prepare(ms)
			t.line[q.waiter] = waiter{ms - q.waited.Milliseconds(), ms + stay.Milliseconds(), q.takes(c.Cost)}
		}
	}
	return seawall.Observation{n, ahead}, ok
}

// Commit implements seawall.Rule.
func (q *queue) Commit(st *seawall.State, env seawall.Env, c *seawall.Check) {
	q.Slots.Commit(st, env, c)
	t := st.More.(*taken)
	t.prepare(env.Now / int64(time.Millisecond))
	delete(t.line, q.waiter)
}

// Refund implements seawall.Refunder: it leaves the line.
func (q *queue) Refund(st *seawall.State, _ seawall.Env, _ *seawall.Check) {
	if t, _ := st.More.(*taken); t != nil {
		delete(t.line, q.waiter)
	}
}

// Share implements seawall.Sharer.
func (q *queue) Share(i, n int64) seawall.Rule {
	share := *q
	share.Slots = q.Slots.Share(i, n).(*Slots)
	return &share
}

// Result implements seawall.Rule. Who is first in line is told to ask again soon, and who is not a little later;
// see wait.
func (q *queue) Result(seen seawall.Observation, ok, committed bool, env seawall.Env, c *seawall.Check) seawall.Result {
	res := q.Slots.Result(seen, ok, committed, env, c)
	if q.waiter != 0 && res.RetryAfter == retry {
		res.RetryAfter = laterSoon
		if seen[1] == 0 {
			res.RetryAfter = firstSoon
		}
	}
	return res
}

// Script implements seawall.Rule.
func (q *queue) Script() string { return queueLua + q.Slots.Script() }

// Args implements seawall.Rule.
func (q *queue) Args(dst []any, env seawall.Env, c *seawall.Check) []any {
	dst = q.Slots.Args(dst, env, c)
	if !q.weighted {
		dst = append(dst, 1)
	}
	name := ""
	if q.waiter != 0 {
		name = fmt.Sprintf("%016x", q.waiter)
	}
	return append(dst, name, q.waited.Milliseconds(), stay.Milliseconds())
}
