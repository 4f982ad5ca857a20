package workershed

import (
	"math"
	"time"
)

// census is what is in flight at one moment, and how many have begun until then.
type census struct {
	kept     int64 // had every refusal been enforced
	spared   int64 // though refused, in log-only mode
	phantoms int64 // of kept: see shadow
	prompt   int64 // of kept: begun in log-only mode while not all workers were busy

	sparedBegun, promptBegun int64
	logOnly                  int64 // requests in log-only mode
}

// shadow finds out whether requests wait for workers. Where they do, the spared ones make the kept ones wait, too, so that these
// are in flight for longer than under enforcement, and a level that followed their number would shed more than enforcement does.
//
// A service that is saturated ends r requests a second, whosever they are, and it is saturated by as many as it ends in the time
// that a request takes without waiting, which is known from those that began while not all workers were busy. So if v of the kept
// requests were in flight under enforcement, of the requests that end a share of v ÷ needed, at most all, would be among them. The
// others that ended are phantoms: kept requests in flight that would have ended. See [Shedder.ended].
type shadow struct {
	last census

	long, short latency       // of prompt requests
	all         latency       // of all requests, recently
	begun       float64       // all requests, averaged alike
	keptBegun   float64       // of these
	lasted      float64       // the seconds that were averaged
	since       time.Duration // a request was in log-only mode
}

// saturation is what a saturated service needs and does.
type saturation struct {
	needed float64 // requests in flight
	share  float64 // of the requests that end: those that were served
}

const (
	// recent is the time constant of what is known of all requests.
	recent = 2 * time.Second
	// lastPrompt is of how many prompt requests one knows: few, since when a dependency gets slow, few begin before all workers
	// are busy.
	lastPrompt = 16
	longPrompt = 1000
	// slower is how many times as long as many before the last few prompt requests must take to mean that all of them do now.
	slower = 1.5
	// longer is how many times as long as prompt requests others must take to be waiting, and muchLonger if only few prompt
	// ones are known.
	longer, muchLonger = 1.1, 2
	// growing is the share of those that begin of which fewer end where the line gets longer.
	growing = 0.9
)

// step returns what saturates the service if requests wait after dt, and nil if none do. begun is how many kept requests have begun
// in dt.
func (s *shadow) step(now census, workers int64, begun float64, dt time.Duration) *saturation {
	was := s.last
	s.last = now
	if dt <= 0 {
		return nil
	}
	inFlight := mean(was.kept+was.spared, now.kept+now.spared)
	s.learn(was, now, begun, dt, inFlight <= float64(workers))
	if s.since > recent || now.spared+now.phantoms == 0 || inFlight <= float64(workers) {
		return nil
	}
	return s.saturation(float64(workers))
}

// learn averages over what was seen in dt. idle tells that not all workers were busy.
func (s *shadow) learn(was, now census, kept float64, dt time.Duration, idle bool) {
	begun := kept + float64(now.sparedBegun-was.sparedBegun)
	keep := 1 - replaced(dt, recent)
	s.begun = keep*s.begun + begun
	s.keptBegun = keep*s.keptBegun + kept
	s.all.time = keep*s.all.time + mean(was.kept+was.spared, now.kept+now.spared)*dt.Seconds()
	s.all.ends = keep*s.all.ends + begun - float64(now.kept+now.spared-was.kept-was.spared)
	s.lasted = keep*s.lasted + dt.Seconds()

	time := mean(was.prompt, now.prompt) * dt.Seconds()
	ends := float64(now.promptBegun-was.promptBegun) - float64(now.prompt-was.prompt)
	s.short.add(time, ends, lastPrompt)
	if idle {
		s.long.add(time, ends, longPrompt)
	}
	if s.since += dt; now.logOnly != was.logOnly {
		s.since = 0
	}
}

// saturation is nil if requests take no longer than those that do not wait. More than workers are in flight.
func (s *shadow) saturation(workers float64) *saturation {
	service := s.long.mean()
	atMost := longer * service
	grows := s.all.ends < growing*s.begun
	if few := s.short.mean(); few > slower*service {
		service = few
		if !grows { // else the few that are left of the prompt ones are the longest
			atMost = muchLonger * few
		}
	}
	if service == 0 || s.all.time <= atMost*max(s.all.ends, s.begun) {
		return nil
	}
	rate, share := s.all.ends/s.lasted, 1.0
	shrinks := s.begun < growing*s.all.ends
	if most := workers / min(s.long.mean(), service); rate > longer*most && !shrinks {
		share = most / rate // the others have ended because their clients have given up
	}
	return &saturation{needed: min(max(1, rate*share*service), workers), share: share}
}

// service is how long a request takes that does not wait; 0 if that is not known.
func (s *shadow) service() time.Duration {
	return time.Duration(max(s.short.mean(), s.long.mean()) * float64(time.Second))
}

// scale is what a signal is to be multiplied by: the share of what the service does that it would do for kept requests, had the
// spared ones been refused. What the kept ones ask may be more than the service does.
func (s *shadow) scale() float64 {
	if s.last.spared+s.last.phantoms == 0 || s.all.ends <= 0 {
		return 1
	}
	return s.keptBegun / s.all.ends
}

// latency is how long some requests took, by Little's law.
type latency struct {
	time float64 // in flight, in request-seconds
	ends float64
}

// add averages over the last n ends, more or less. Where nothing happens, what is known stays.
func (l *latency) add(time, ends, n float64) {
	keep := math.Exp(-max(0, ends) / n)
	l.time = keep*l.time + time
	l.ends = keep*l.ends + ends
}

func (l *latency) mean() float64 {
	if l.ends <= 0 {
		return 0
	}
	return l.time / l.ends
}

// ended counts the phantoms when a request ends, one that was kept or one that was spared, before it is uncounted.
func (s *Shedder) ended(kept bool) {
	full := s.full.Load()
	if full == nil {
		return
	}
	v := float64(s.kept.load() - s.phantoms.load())
	in := v > 0 && s.chance(full.share*min(1, v/full.needed)) // it would be one of the v
	switch {
	case in && !kept:
		s.phantoms.enter()
	case !in && kept:
		s.phantoms.leave()
	}
}

// settle has phantoms end as others do, when nothing waits any more. Once no request is in log-only mode any more they count as what
// they are, requests in flight.
func (s *Shedder) settle(p *shadow, dt time.Duration) {
	n := s.phantoms.load()
	if n == 0 {
		return
	}
	if p.since > recent {
		s.phantoms.n.Store(0)
		return
	}
	service := p.service()
	end := int64(math.Ceil(float64(n) * replaced(dt, max(service, dt))))
	for range max(end, n-s.kept.load()) {
		s.phantoms.leave()
	}
}
