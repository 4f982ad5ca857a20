package workershed

import "github.com/seawall-go/seawall"

// What a request was counted as.
const (
	ticketKept seawall.Ticket = iota + 1
	ticketSpared
)

// Enter implements [seawall.Local]: it decides about r and counts it in. A refusal in enforce mode counts
// nothing and has the zero Ticket. A refusal in log-only mode is part of InFlight only. In mode off everything
// is admitted and nothing counted.
//
// Limit is Workers and Remaining how many of them would be idle, had every refusal been enforced.
func (s *Shedder) Enter(r *seawall.Request, m seawall.Mode) (seawall.Result, seawall.Ticket) {
	if m >= seawall.Off || r.LongLived {
		return s.admitted(s.kept.load()), 0
	}
	if r.Tier >= seawall.Critical {
		return s.admitted(s.kept.enter()), ticketKept
	}
	level := s.Level()
	if !s.cohorts.out(r.Key, share(level, r.Tier)) {
		if n, ok := s.kept.enterBelow(s.cap); ok {
			return s.admitted(n), ticketKept
		}
	}
	res := seawall.Result{RetryAfter: retryAfter(level), Limit: s.workers, Remaining: s.idle(s.kept.load())}
	if m == seawall.LogOnly {
		s.spared.enter()
		return res, ticketSpared
	}
	return res, 0
}

// Leave implements [seawall.Local]: it undoes what the Enter that gave t counted. Call it once per Enter. The
// zero Ticket is nothing.
func (s *Shedder) Leave(t seawall.Ticket) {
	switch t {
	case ticketKept:
		s.kept.leave()
	case ticketSpared:
		s.spared.leave()
	}
}

func (s *Shedder) admitted(inFlight int64) seawall.Result {
	return seawall.Result{Admitted: true, Limit: s.workers, Remaining: s.idle(inFlight)}
}

func (s *Shedder) idle(inFlight int64) int64 { return max(0, s.workers-inFlight) }
