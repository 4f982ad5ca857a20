package sim

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"time"

	"github.com/seawall-go/seawall"
)

// Run plays a scenario with a subject and returns what happened. The same scenario and a new subject of the same kind give the
// same result, and all subjects meet the same calls.
func Run(sc Scenario, subject Subject) (*Result, error) {
	sc, err := sc.resolve()
	if err != nil {
		return nil, err
	}
	w := newWorld(sc, subject)
	w.run()
	return w.measure.result(), nil
}

// call is what a client wants, in one or several attempts.
type call struct {
	request  seawall.Request
	caller   int
	work     time.Duration
	began    time.Duration
	due      time.Duration // when it is repeated
	attempts int
}

// attempt is one request of a call.
type attempt struct {
	call   *call
	first  bool
	ended  bool // the client has an answer or has given up
	ticket seawall.Ticket
	until  time.Duration // the client waits
}

// world is one run. What is to happen is in the fields next to each other: the next arrival, step and second, the clients that will
// give up, in order, and the calls that will be repeated.
type world struct {
	Scenario
	subject Subject
	measure *measure
	service service
	now     time.Duration

	arrival, step, second time.Duration
	impatient             []*job
	repeats               repeats

	arrivals, clients *rand.Rand
	peak              float64 // of Load, for thinning
	rank              []float64
	keys              [4][]seawall.Key
}

func newWorld(sc Scenario, subject Subject) *world {
	w := &world{
		Scenario: sc, subject: subject, measure: newMeasure(sc, subject),
		service: service{discipline: sc.Discipline, workers: sc.Workers, slow: sc.Slow},
		step:    never, second: time.Second,
		arrivals: rand.New(rand.NewPCG(sc.Seed, 1)), //nolint:gosec // simulates chance
		clients:  rand.New(rand.NewPCG(sc.Seed, 2)), //nolint:gosec // simulates chance
	}
	if subject.Step != nil {
		w.step = subject.Every
	}
	for at := time.Duration(0); at < sc.For; at += sc.For / 10_000 {
		w.peak = max(w.peak, sc.Load(at))
	}
	w.peak = min(w.peak*1.05, maxLoad)
	sum := 0.0
	for k := range sc.Callers {
		sum += math.Pow(float64(k+1), -sc.Skew)
		w.rank = append(w.rank, sum)
	}
	for tier := range w.keys {
		for k := range sc.Callers {
			w.keys[tier] = append(w.keys[tier], seawall.NewKey("caller", strconv.Itoa(tier), strconv.Itoa(k)))
		}
	}
	w.arrive()
	return w
}

// never is later than everything, and forever longer than every run.
const (
	never   = math.MaxInt64
	forever = 1000 * time.Hour
)

// duration makes a time of nanoseconds that a curve or a distribution may have made anything of.
func duration(ns float64) time.Duration {
	if !(ns > 0) { // NaN is not
		return 0
	}
	return time.Duration(min(ns, float64(forever)))
}

func (w *world) run() {
	for w.now < 2*w.For {
		end, giveUp, repeat := w.service.next(), time.Duration(never), w.repeats.next()
		if len(w.impatient) > 0 {
			giveUp = w.impatient[0].attempt.until
		}
		w.now = min(end, w.arrival, w.step, w.second, giveUp, repeat)
		if w.now >= w.For && end == never && repeat == never && !w.measure.settling() {
			return
		}
		w.service.advance(w.now)
		switch w.now {
		case end:
			w.finish(w.service.end())
		case w.arrival:
			w.attempt(w.newCall())
			w.arrive()
		case giveUp:
			j := w.impatient[0]
			w.impatient = w.impatient[1:]
			w.giveUp(j)
		case repeat:
			w.attempt(heap.Pop(&w.repeats).(*call)) //nolint:forcetypeassert // there is nothing else in it
		case w.step:
			w.subject.Step(w.now)
			w.measure.step()
			w.step += w.subject.Every
		default:
			w.service.workers = max(1, int(math.Round(w.Left(w.now)*float64(w.Workers))))
			w.service.fill()
			w.measure.second(w.now, w.service.queued())
			w.second += time.Second
		}
	}
}

// arrive says when the next call arrives: a Poisson process of the highest rate, thinned to the rate of the moment.
func (w *world) arrive() {
	w.arrival = never
	rate := w.peak * float64(w.Workers) / w.Service.Seconds()
	for at := w.now; rate > 0; {
		at += time.Duration(w.arrivals.ExpFloat64() / rate * float64(time.Second))
		if at >= w.For {
			return
		}
		if w.arrivals.Float64()*w.peak < w.Load(at) {
			w.arrival = at
			return
		}
	}
}

func (w *world) newCall() *call {
	tier, x := 0, w.arrivals.Float64()
	for tier < len(w.Mix)-1 && x >= w.Mix[tier] {
		x -= w.Mix[tier]
		tier++
	}
	caller := sort.SearchFloat64s(w.rank, w.arrivals.Float64()*w.rank[len(w.rank)-1])
	return &call{
		request: seawall.Request{Key: w.keys[tier][caller], Tier: seawall.TestMode + seawall.Tier(tier)},
		caller:  caller,
		work:    duration(w.Work(w.arrivals) * float64(w.Service)),
		began:   w.now,
	}
}

// attempt sends a request of c.
func (w *world) attempt(c *call) {
	a := &attempt{call: c, first: c.attempts == 0}
	c.attempts++
	res, ticket := w.subject.Shedder.Enter(&c.request, w.subject.Mode)
	if res.Admitted {
		res, ticket = w.subject.Shedder.Begin(ticket, false)
	}
	w.measure.decided(w.now, a, res.Admitted)
	if !res.Admitted && w.subject.Mode == seawall.Enforce {
		w.repeat(c, res.RetryAfter)
		return
	}
	a.ticket, a.until = ticket, w.now+w.Patience
	j := &job{attempt: a, work: c.work}
	w.service.add(j)
	w.impatient = append(w.impatient, j)
}

// finish answers a request.
func (w *world) finish(j *job) {
	a := j.attempt
	w.subject.Shedder.Leave(a.ticket)
	if a.ended {
		return // nobody waits for it
	}
	a.ended = true
	w.measure.answered(w.now, a)
}

func (w *world) giveUp(j *job) {
	a := j.attempt
	if a.ended {
		return
	}
	a.ended = true
	if w.Cancels && w.service.drop(j) {
		w.subject.Shedder.Leave(a.ticket)
	}
	if !w.Retry.Impatient {
		w.measure.failed(w.now, a.call)
		return
	}
	w.repeat(a.call, 0)
}

// repeat has c tried again, if it is to be.
func (w *world) repeat(c *call, retryAfter time.Duration) {
	if c.attempts > w.Retry.Times {
		w.measure.failed(w.now, c)
		return
	}
	wait := float64(w.Retry.After) * (0.5 + w.clients.Float64())
	if w.Retry.Doubling {
		wait *= math.Pow(2, float64(c.attempts-1))
	}
	if w.Retry.Obedient {
		wait = max(wait, float64(retryAfter)*(1+w.clients.Float64()))
	}
	c.due = w.now + duration(wait)
	heap.Push(&w.repeats, c)
}
