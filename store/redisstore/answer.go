package redisstore

import (
	"fmt"

	"github.com/seawall-go/seawall"
)

// answer is what a script replied to one request: a mask of which checks admit, behind two bits that tell whether the
// enforced and the advisory checks committed, and the observations of the checks, in columns as its shape says. A
// negative mask tells what kept it from deciding.
type answer struct {
	reply []int64
	time  []int64 // as Redis gives it; if the shape is timed, the mask is negative, or the call was for many
	shape *shape
}

// Masks of requests about which nothing was decided.
const (
	missedMask = -1 // its arguments were made for another time
	lateMask   = -2 // it ran too late
)

// answerOne returns the answer in the reply to a call for one request, or an error if no script gives such a reply.
func (sh *shape) answerOne(reply []int64) (answer, error) {
	width, timed := sh.width(), sh.timed
	if len(reply) > 0 && reply[0] < 0 {
		width, timed = 1, true
	}
	want := width
	if timed {
		want += 2
	}
	if len(reply) != want {
		return answer{}, badReply(reply, want)
	}
	return sh.answer(reply[:width], reply[width:])
}

// answerMany returns the answer to request i of n in the reply to a call for them all.
func (sh *shape) answerMany(reply []int64, i, n int) (answer, error) {
	width := sh.width()
	if len(reply) != n*width+2 {
		return answer{}, badReply(reply, n*width+2)
	}
	return sh.answer(reply[i*width:(i+1)*width], reply[n*width:])
}

func (sh *shape) answer(reply, time []int64) (answer, error) {
	if mask := reply[0]; mask < 0 && mask != lateMask && (mask != missedMask || !sh.misses) {
		return answer{}, badReply(reply, sh.width())
	}
	return answer{reply, time, sh}, nil
}

func badReply(reply []int64, want int) error {
	return &callError{reason: "script", err: fmt.Errorf("the reply is %v; want %d numbers, a mask first", reply[:min(len(reply), 64)], want)}
}

func (a answer) ok(i int) bool { return a.reply[0]>>(i+2)&1 == 1 }

func (a answer) observed(i int) (seen seawall.Observation) {
	copy(seen[:], a.reply[a.shape.columns[i]:a.shape.columns[i+1]])
	return seen
}

func (a answer) committed(c *seawall.Check) bool {
	switch {
	case c.Op != seawall.Spend:
		return c.Op != seawall.Peek
	case c.Advisory:
		return a.reply[0]&2 != 0
	}
	return a.reply[0]&1 != 0
}

// result is what check i is told.
func (a answer) result(i int, env seawall.Env, c *seawall.Check) seawall.Result {
	if c.Op > seawall.Peek {
		return seawall.Result{Admitted: true, Committed: true}
	}
	env.Now = 0
	return c.Rule.Result(a.observed(i), a.ok(i), a.committed(c), env, c)
}

// at is when the script ran, in nanoseconds of Redis' clock; of a shape that is timed.
func (a answer) at() int64 { return nanos(a.time) }

// nanos is a time as Redis' TIME gives it, in nanoseconds.
func nanos(time []int64) int64 { return time[0]*1e9 + time[1]*1e3 }

// missed tells whether the script ran too late, or turned down the time that its arguments were made for, and when
// it ran, in nanoseconds of Redis' clock.
func (a answer) missed() (now int64, missed bool) {
	if a.reply[0] >= 0 {
		return 0, false
	}
	return nanos(a.time), true
}

// onlyLeasesRefuse tells whether asking again can help and cannot harm: nothing was committed, and all that
// refuse are leases, which other requests may be giving back at this moment.
func (a answer) onlyLeasesRefuse(checks []seawall.Check) bool {
	refused := false
	for i := range checks {
		if a.committed(&checks[i]) {
			return false
		}
		if checks[i].Op > seawall.Peek || a.ok(i) {
			continue
		}
		if _, ok := checks[i].Rule.(seawall.Holder); !ok {
			return false
		}
		refused = true
	}
	return refused
}
