package proof

import (
	"fmt"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seawall-go/seawall"
)

// caps are those of a history of leases. Leases last for longer than it.
var caps = [...]struct {
	name     string
	slots    int64
	weighted bool
}{{"one", 1, false}, {"few", 3, false}, {"weighed", 6, true}}

const historyTTL = time.Hour

// wish is one check of a request for slots, and the lease that it may take.
type wish struct {
	cap      int
	op       seawall.Op // Spend or Peek
	cost     int64
	advisory bool
	id       int
}

func (w wish) takes() int64 {
	if caps[w.cap].weighted {
		return w.cost
	}
	return 1
}

// deed is what a client, or a store on its behalf, does.
type deed uint8

const (
	asks   deed = iota // for slots, and is answered
	holds              // it was not answered: its slots are taken beyond the caps, as soon as can be, unless given back before
	gives              // its slots back
	late               // what was not answered takes the slots when they were given back
	ghost              // what was refused is asked for once more, and taken if it fits, although nobody waits for it any more
	cleans             // the store gives back what was taken late
	drops              // the store gives back what the ghost took
	ends               // the history; what comes behind never took place
)

// act is a deed with wishes.
type act struct {
	deed   deed
	wishes []wish
}

// grant is what a wish was told.
type grant struct {
	admitted, committed, last bool
	left                      int64
}

// grants are what an act was told.
type grants [len(caps)]grant

// maxLeases is how many leases a history has at most.
const maxLeases = 512

// taken is the state of a store of leases: how much is taken, by which, and which were given back.
type taken struct {
	slots      [len(caps)]int64
	held, gone numbers
	ended      bool
}

type numbers [maxLeases / 64]uint64

func (n *numbers) has(id int) bool { return n[id/64]>>(id%64)&1 == 1 }
func (n *numbers) add(id int)      { n[id/64] |= 1 << (id % 64) }
func (n *numbers) drop(id int)     { n[id/64] &^= 1 << (id % 64) }

func (s *taken) take(w wish) {
	if !s.held.has(w.id) {
		s.held.add(w.id)
		s.slots[w.cap] += w.takes()
	}
}

func (s *taken) free(w wish) {
	if s.held.has(w.id) {
		s.held.drop(w.id)
		s.slots[w.cap] -= w.takes()
	}
}

// step is what a store does if nobody else is there. What need not take place is not possible where it changes nothing,
// as then it might as well be left out: that leaves far fewer orders to look at.
func (s taken) step(a act) (next taken, told grants, possible bool) {
	was := s
	switch {
	case s.ended:
		return s, grants{}, true
	case a.deed == ends:
		s.ended = true
		return s, grants{}, true
	case a.deed == asks:
		s, told = s.ask(a.wishes)
		return s, told, true
	case a.deed == ghost:
		s, _ = s.ask(a.wishes)
		return s, grants{}, s != was
	}
	for _, w := range a.wishes {
		switch {
		case a.deed == holds && !s.gone.has(w.id), a.deed == late && s.gone.has(w.id):
			s.take(w)
		case a.deed == gives:
			s.gone.add(w.id)
			s.free(w)
		case a.deed == cleans && s.gone.has(w.id), a.deed == drops:
			s.free(w)
		}
	}
	return s, grants{}, s != was
}

func (s taken) ask(wishes []wish) (taken, grants) {
	enforced, all := true, true
	var told grants
	for i, w := range wishes {
		told[i].admitted = s.slots[w.cap]+w.takes() <= caps[w.cap].slots
		if w.op == seawall.Spend {
			all = all && told[i].admitted
			enforced = enforced && (told[i].admitted || w.advisory)
		}
	}
	for i, w := range wishes {
		told[i].committed = w.op == seawall.Spend && (all || enforced && !w.advisory)
		if told[i].committed {
			s.take(w)
		}
		n := caps[w.cap].slots
		told[i].left = max(0, n-s.slots[w.cap])
		told[i].last = told[i].committed && 4*told[i].left <= n
	}
	return s, told
}

// sequentialLeases is a store that does one thing after the other. What has all the time there is to take place comes
// behind the end if it never did.
func sequentialLeases() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return taken{} },
		Step: func(state, input, output any) (bool, any) {
			next, want, possible := state.(taken).step(input.(act))
			return possible && (input.(act).deed != asks || output.(grants) == want), next
		},
		Equal:             func(a, b any) bool { return a.(taken) == b.(taken) },
		DescribeOperation: func(input, output any) string { return describeAct(input.(act), output.(grants)) },
		DescribeState:     func(state any) string { return fmt.Sprint(state.(taken).slots) },
	}
}

func describeAct(a act, told grants) string {
	words := [...]string{asks: "asks for", holds: "holds", gives: "gives", late: "late", ghost: "ghost", cleans: "cleans", drops: "drops", ends: "ends"}
	var text strings.Builder
	text.WriteString(words[a.deed])
	for i, w := range a.wishes {
		fmt.Fprintf(&text, " #%d, %d of %s", w.id, w.cost, caps[w.cap].name)
		if w.op == seawall.Peek {
			text.WriteString(" (peek)")
		}
		if w.advisory {
			text.WriteString(" (advisory)")
		}
		if a.deed == asks {
			fmt.Fprintf(&text, ": admitted %v, committed %v, left %d, last %v;", told[i].admitted, told[i].committed, told[i].left, told[i].last)
		}
	}
	return text.String()
}
