package redisstore

import "github.com/seawall-go/seawall"

// answer is a script's reply: a mask of which checks admit, behind two bits that tell whether the enforced
// and the advisory checks committed, and the observations of the checks, in columns as its shape says.
type answer struct {
	reply []int64
	shape *shape
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
func (a answer) at() int64 {
	return nanos(a.reply[len(a.reply)-2:])
}

// nanos is a time as Redis' TIME gives it, in nanoseconds.
func nanos(time []int64) int64 { return time[0]*1e9 + time[1]*1e3 }

// missed tells whether the script ran too late, or turned down the time that its arguments were made for, and when
// it ran, in nanoseconds of Redis' clock.
func (a answer) missed() (now int64, missed bool) {
	if a.reply[0] >= 0 {
		return 0, false
	}
	return nanos(a.reply[1:]), true
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
