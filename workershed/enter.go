package workershed

import "github.com/seawall-go/seawall"

// What a request was counted as.
const (
	ticketKept     = iota + 1 // handled
	ticketPrompt              // handled, begun in log-only mode while not all workers were busy
	ticketSpared              // handled although it was refused, in log-only mode
	ticketReserved            // undecided, with a reservation
	ticketQueued              // undecided, behind others of the same caller
	ticketCritical            // as ticketQueued, of a critical request
)

// ticket is a seawall.Ticket: from the lowest bit on 3 bits of kind, 1 that is set in log-only mode, 2 of tier, 10 of place and
// 8 of slot.
type ticket uint32

func newTicket(kind, tier, place, slot int, m seawall.Mode) ticket {
	t := ticket(kind | tier<<4 | place<<6 | slot<<16)
	if m == seawall.LogOnly {
		t |= 1 << 3
	}
	return t
}

func (t ticket) kind() int             { return int(t & 7) }
func (t ticket) logOnly() bool         { return t>>3&1 == 1 }
func (t ticket) tier() int             { return int(t >> 4 & 3) }
func (t ticket) place() int            { return int(t >> 6 & (places - 1)) }
func (t ticket) slot() int             { return int(t >> 16 & (slots - 1)) }
func (t ticket) undecided() bool       { return t.kind() >= ticketReserved }
func (t ticket) as(k int) ticket       { return t&^7 | ticket(k) }
func (t ticket) given() seawall.Ticket { return seawall.Ticket(t) }

// Enter implements [seawall.Local]: it decides about r and counts it in, as undecided. A refusal in enforce mode counts
// nothing and has the zero Ticket. A refusal in log-only mode is part of InFlight only. In mode off everything
// is admitted and nothing counted.
//
// Limit is Workers and Remaining how many of them would be idle, had every refusal been enforced.
func (s *Shedder) Enter(r *seawall.Request, m seawall.Mode) (seawall.Result, seawall.Ticket) {
	if m >= seawall.Off || r.LongLived {
		return s.admitted(s.kept.load()), 0
	}
	place := int(r.Key.Hash() % places)
	slot := place % slots
	if r.Key.IsZero() { // requests of nobody have nothing in common
		slot = int(s.spread() >> 56)
	}
	t := newTicket(0, tierOf(r.Tier), place, slot, m)
	if m == seawall.LogOnly {
		s.logOnly.Add(1)
	}
	if s.out(t) {
		s.outs.Add(1)
	} else if kind := s.queue(t); kind != 0 {
		return s.admitted(s.kept.load()), t.as(kind).given()
	}
	if m == seawall.LogOnly {
		s.spare()
		return s.refused(), t.as(ticketSpared).given()
	}
	return s.refused(), 0
}

// out tells whether the level sheds t.
func (s *Shedder) out(t ticket) bool {
	share := s.verdict.Load().cut.share(t.tier(), t.slot())
	return share == 1 || s.chance(share)
}

// chance is true for a share p of all calls, evenly.
func (s *Shedder) chance(p float64) bool {
	return p > 0 && float64(s.spread()>>11)/(1<<53) < p
}

// spread returns numbers that are spread evenly over all of 64 bits.
func (s *Shedder) spread() uint64 { return s.spreads.Add(1) * golden }

// golden is 2^64 divided by the golden ratio. Its multiples visit a circle more evenly than those of any other number.
const golden = 0x9e3779b97f4a7c15

// queue counts t among the undecided ones of its caller. The first has a reservation: it is in kept. Those behind it are
// not, so that whoever is refused by other layers anyway takes no workers from others; but for their caller they count. Zero
// is a refusal, which counts nothing.
func (s *Shedder) queue(t ticket) (kind int) {
	place := &s.undecided[t.place()]
	behind := place.enter() - 1
	switch critical := t.tier() >= sheddable; {
	case critical && behind > 0:
		return ticketCritical
	case critical:
		s.kept.enter()
		return ticketReserved
	case behind > 0 && s.kept.load()+behind <= s.room():
		return ticketQueued
	case behind == 0 && s.kept.enterBelow(s.room()):
		return ticketReserved
	}
	place.leave()
	return 0
}

// room is how many requests there may be in kept for another one below critical. Those that are still there only since others are
// in log-only mode take no room.
func (s *Shedder) room() int64 { return s.cap + s.phantoms.load() }

// Begin implements [seawall.Local]. It refuses a request that had no reservation, if others have reached the hard cap
// meanwhile. One that is spared, here or by others, is part of InFlight only.
func (s *Shedder) Begin(given seawall.Ticket, spared bool) (seawall.Result, seawall.Ticket) {
	t := ticket(given)
	if !t.undecided() {
		return s.admitted(s.kept.load()), given
	}
	s.undecided[t.place()].leave()
	switch kind := t.kind(); {
	case spared:
		if kind == ticketReserved {
			s.kept.leave()
		}
		s.spare()
		return s.admitted(s.kept.load()), t.as(ticketSpared).given()
	case kind == ticketCritical:
		s.kept.enter()
	case kind == ticketQueued && !s.kept.enterBelow(s.room()):
		if t.logOnly() {
			s.spare()
			return s.refused(), t.as(ticketSpared).given()
		}
		return s.refused(), 0
	}
	s.traffic.count(t.tier(), t.slot())
	kept := s.kept.load()
	if t.logOnly() && kept+s.spared.load() <= s.workers {
		s.prompt.enter()
		s.promptBegun.Add(1)
		return s.admitted(kept), t.as(ticketPrompt).given()
	}
	return s.admitted(kept), t.as(ticketKept).given()
}

func (s *Shedder) spare() {
	s.spared.enter()
	s.sparedBegun.Add(1)
}

// Leave implements [seawall.Local]: it undoes what the Enter or Begin that gave t counted. Call it once. The
// zero Ticket is nothing.
func (s *Shedder) Leave(given seawall.Ticket) {
	t := ticket(given)
	if t.undecided() {
		s.undecided[t.place()].leave()
	}
	switch t.kind() {
	case ticketPrompt:
		s.prompt.leave()
		s.ended(true)
		s.kept.leave()
	case ticketKept:
		s.ended(true)
		s.kept.leave()
	case ticketReserved:
		s.kept.leave()
	case ticketSpared:
		s.ended(false)
		s.spared.leave()
	}
}

func (s *Shedder) admitted(inFlight int64) seawall.Result {
	return seawall.Result{Admitted: true, Limit: s.workers, Remaining: s.idle(inFlight)}
}

func (s *Shedder) refused() seawall.Result {
	return seawall.Result{RetryAfter: retryAfter(s.Level()), Limit: s.workers, Remaining: s.idle(s.kept.load())}
}

func (s *Shedder) idle(inFlight int64) int64 { return max(0, s.workers-inFlight) }
