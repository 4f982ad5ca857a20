package proof

import (
	"fmt"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// The limits of a history. Nothing comes back while it lasts, so what is left is a whole number.
var slots = [...]struct {
	name  string
	limit int64
	quota ratelimit.Quota
}{
	{"small-bucket", 3, ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: slowest}, 3)},
	{"large-bucket", 9, ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: slowest}, 9)},
	{"log", 5, ratelimit.SlidingLog(5, maxWindow)},
}

// theLog is the slot that knows its spends by number, so that each is refunded once only.
const theLog = 2

// part is one check of a request.
type part struct {
	slot     int
	op       seawall.Op
	cost     int64
	advisory bool
	id       int // of a spend, or of the spend that is refunded
}

// seen is what a part was told.
type seen struct {
	admitted, committed bool
	remaining           int64
}

// answer is what a request was told. Of an unknown one it is not known whether it took place, nor whether it
// still will.
type answer struct {
	parts   [len(slots)]seen
	unknown bool
}

// maxSpends is how many spends a history has at most.
const maxSpends = 512

// levels is the state of a store: how much is left, and which spends the log holds.
type levels struct {
	left [len(slots)]int64
	held [maxSpends / 64]uint64
}

func full() (l levels) {
	for i, s := range slots {
		l.left[i] = s.limit
	}
	return l
}

func (l *levels) holds(id int) bool { return l.held[id/64]>>(id%64)&1 == 1 }

func (l *levels) hold(id int, yes bool) {
	l.held[id/64] &^= 1 << (id % 64)
	if yes {
		l.held[id/64] |= 1 << (id % 64)
	}
}

// step is what a store does with a request if nobody else is there.
func (l levels) step(request []part) (levels, answer) {
	enforced, all := true, true
	var a answer
	for i, p := range request {
		if p.op <= seawall.Peek {
			a.parts[i].admitted = p.cost <= l.left[p.slot]
			if p.op == seawall.Spend {
				all = all && a.parts[i].admitted
				enforced = enforced && (a.parts[i].admitted || p.advisory)
			}
		}
	}
	for i, p := range request {
		told := &a.parts[i]
		if p.op == seawall.Refund {
			l.refund(p)
			*told = seen{admitted: true, committed: true}
			continue
		}
		told.committed = p.op == seawall.Spend && (all || enforced && !p.advisory)
		if told.committed {
			l.left[p.slot] -= p.cost
			if p.slot == theLog {
				l.hold(p.id, true)
			}
		}
		told.remaining = l.left[p.slot]
	}
	return l, a
}

func (l *levels) refund(p part) {
	if p.slot == theLog {
		if !l.holds(p.id) {
			return
		}
		l.hold(p.id, false)
	}
	l.left[p.slot] = min(l.left[p.slot]+p.cost, slots[p.slot].limit)
}

// sequential is a store that does one thing after the other. A request whose answer is unknown has all the time
// there is to take place: if it never did, it comes last, where nobody sees it.
func sequential() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return full() },
		Step: func(state, input, output any) (bool, any) {
			next, want := state.(levels).step(input.([]part))
			got := output.(answer)
			return got.unknown || got == want, next
		},
		Equal: func(a, b any) bool { return a.(levels) == b.(levels) },
		DescribeOperation: func(input, output any) string {
			return describe(input.([]part), output.(answer))
		},
		DescribeState: func(state any) string { return fmt.Sprint(state.(levels).left) },
	}
}

func describe(request []part, a answer) string {
	var text strings.Builder
	for i, p := range request {
		c := check{account: &account{name: slots[p.slot].name, limits: []limit{{text: "#" + fmt.Sprint(p.id)}}}, cost: p.cost, op: p.op, advisory: p.advisory}
		fmt.Fprintf(&text, "%v: ", c)
		switch {
		case a.unknown:
			text.WriteString("unknown")
		case p.op != seawall.Refund:
			fmt.Fprintf(&text, "admitted %v, committed %v, left %d", a.parts[i].admitted, a.parts[i].committed, a.parts[i].remaining)
		}
		text.WriteString("; ")
	}
	return text.String()
}

// forever is when a request returns of which it is not known whether it will still take place.
const forever = int64(1) << 62

// undecided is how long a history is looked at before it is given up, which is a failure.
const undecided = time.Minute
