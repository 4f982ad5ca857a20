package workershed

import "github.com/seawall-go/seawall"

// What a request was counted as. The bits above kinds are its caller's place.
const (
	ticketKept     seawall.Ticket = iota + 1 // handled
	ticketSpared                             // handled although it was refused, in log-only mode
	ticketReserved                           // undecided, with a reservation
	ticketQueued                             // undecided, behind others of the same caller
	ticketShadow                             // as ticketQueued, in log-only mode
	ticketCritical                           // as ticketQueued, of a critical request
	kinds          = 8
)

// Enter implements [seawall.Local]: it decides about r and counts it in, as undecided. A refusal in enforce mode counts
// nothing and has the zero Ticket. A refusal in log-only mode is part of InFlight only. In mode off everything
// is admitted and nothing counted.
//
// Limit is Workers and Remaining how many of them would be idle, had every refusal been enforced.
func (s *Shedder) Enter(r *seawall.Request, m seawall.Mode) (seawall.Result, seawall.Ticket) {
	if m >= seawall.Off || r.LongLived {
		return s.admitted(s.kept.load()), 0
	}
	level := s.Level()
	if r.Tier >= seawall.Critical || !s.cohorts.out(r.Key, share(level, r.Tier)) {
		if ticket := s.queue(r, m); ticket != 0 {
			return s.admitted(s.kept.load()), ticket
		}
	}
	if m == seawall.LogOnly {
		s.spared.enter()
		return s.refused(), ticketSpared
	}
	return s.refused(), 0
}

// queue counts r among the undecided ones of its caller. The first has a reservation: it is in kept. Those behind it are
// not, so that whoever is refused by other layers anyway takes no workers from others; but for their caller they count. The
// zero Ticket is a refusal, which counts nothing.
func (s *Shedder) queue(r *seawall.Request, m seawall.Mode) seawall.Ticket {
	at := r.Key.Hash() % places
	place := &s.undecided[at]
	behind := place.enter() - 1
	kind := ticketReserved
	switch {
	case r.Tier >= seawall.Critical && behind > 0:
		kind = ticketCritical
	case r.Tier >= seawall.Critical:
		s.kept.enter()
	case behind > 0 && s.kept.load()+behind <= s.cap:
		if kind = ticketQueued; m == seawall.LogOnly {
			kind = ticketShadow
		}
	case behind > 0 || !s.kept.enterBelow(s.cap):
		place.leave()
		return 0
	}
	return kind + kinds*seawall.Ticket(at)
}

// Begin implements [seawall.Local]. It refuses a request that had no reservation, if others have reached the hard cap
// meanwhile. One that is spared, here or by others, is part of InFlight only.
func (s *Shedder) Begin(t seawall.Ticket, spared bool) (seawall.Result, seawall.Ticket) {
	kind := t % kinds
	if kind <= ticketSpared {
		return s.admitted(s.kept.load()), t
	}
	s.undecided[t/kinds].leave()
	if spared {
		if kind == ticketReserved {
			s.kept.leave()
		}
		s.spared.enter()
		return s.admitted(s.kept.load()), ticketSpared
	}
	switch kind {
	case ticketCritical:
		s.kept.enter()
	case ticketQueued:
		if !s.kept.enterBelow(s.cap) {
			return s.refused(), 0
		}
	case ticketShadow:
		if !s.kept.enterBelow(s.cap) {
			s.spared.enter()
			return s.admitted(s.cap), ticketSpared
		}
	}
	return s.admitted(s.kept.load()), ticketKept
}

// Leave implements [seawall.Local]: it undoes what the Enter or Begin that gave t counted. Call it once. The
// zero Ticket is nothing.
func (s *Shedder) Leave(t seawall.Ticket) {
	kind := t % kinds
	if kind > ticketSpared {
		s.undecided[t/kinds%places].leave()
	}
	switch kind {
	case ticketKept, ticketReserved:
		s.kept.leave()
	case ticketSpared:
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
