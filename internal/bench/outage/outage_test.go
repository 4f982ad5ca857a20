package outage

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/openloop"
	"github.com/seawall-go/seawall/internal/redistest"
)

const (
	rate    = 500 // decisions a second
	callers = 100
	// inTime is how late a decision may come to count as one in time.
	inTime = 100 * time.Millisecond
	// edge is how long before the outage a request must be due so as not to be part of it.
	edge = 50 * time.Millisecond
)

// outage is a way in which Redis goes away and comes back.
type outage struct {
	name       string
	begin, end func(t testing.TB, s *redistest.Server)
}

var (
	frozen = outage{
		"frozen (SIGSTOP, SIGCONT)",
		func(_ testing.TB, s *redistest.Server) { s.Stop() },
		func(_ testing.TB, s *redistest.Server) { s.Cont() },
	}
	killed = outage{
		"killed (SIGKILL), restarted empty",
		func(_ testing.TB, s *redistest.Server) { s.Kill() },
		func(t testing.TB, s *redistest.Server) { s.Restart(t) },
	}
)

// schedule says how long the parts of a run last.
type schedule struct {
	warmUp, before, away, after time.Duration
}

func (s schedule) total() time.Duration { return s.warmUp + s.before + s.away + s.after }

// answer is what became of a request.
type answer struct {
	decision
	err error
}

// run is what was measured.
type run struct {
	*openloop.Record
	answers []answer // of the samples
	// The times are since the load began: those of Redis' going and coming are before and after it was told.
	warm, away, returning, back time.Duration
	goroutines                  int // at the peak, without those that were there before and those of calls not yet due
}

// measure puts a candidate under load, on a Redis of its own that goes away. It fails the test if Redis did not
// decide before, or did answer while it was away.
func measure(t testing.TB, c candidate, o outage, s schedule) *run {
	t.Helper()
	server := redistest.Start(t)
	there := runtime.NumGoroutine()
	decide := c.build(t, server.Addr())

	n := int(rate * s.total() / time.Second)
	r := &run{answers: make([]answer, n), warm: s.warmUp}
	var begun, over atomic.Int64
	record := make(chan *openloop.Record)
	began := time.Now()
	go func() {
		// A worker for every call, like a handler: nothing but the limiter bounds how many wait.
		record <- openloop.Run(t.Context(), openloop.Load{Rate: rate, For: s.total(), Workers: n}, func(i int) {
			begun.Add(1)
			r.answers[i] = ask(t.Context(), decide, i)
		})
	}()
	peak := make(chan int)
	go func() {
		most := 0
		for over.Load() == 0 {
			most = max(most, runtime.NumGoroutine()-(n-int(begun.Load()))-there)
			time.Sleep(5 * time.Millisecond)
		}
		peak <- most
	}()

	time.Sleep(time.Until(began.Add(s.warmUp + s.before)))
	away := time.Now()
	o.begin(t, server)
	time.Sleep(s.away / 2)
	answersPing := ping(t, server)
	time.Sleep(time.Until(away.Add(s.away)))
	returning := time.Now()
	o.end(t, server)
	back := time.Now()

	r.Record = <-record
	over.Store(1)
	r.goroutines = <-peak
	r.away, r.returning, r.back = away.Sub(r.Began), returning.Sub(r.Began), back.Sub(r.Began)
	require.False(t, answersPing, "Redis answers while it is away: nothing was measured")
	require.Len(t, r.Samples, n, "calls that were never made")
	healthy := r.count(r.warm, r.away-edge, r.shared)
	require.Greater(t, healthy.share(), 0.5, "%s: Redis hardly decided before the outage (%v): nothing was measured", c.name, healthy)
	return r
}

// ask has the limiter decide about the i-th request. A panic is an error.
func ask(ctx context.Context, decide decide, i int) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a.err = fmt.Errorf("panic: %v", p)
		}
	}()
	a.decision, a.err = decide(ctx, "caller-"+strconv.Itoa(i%callers))
	return a
}

// ping tells whether Redis answers.
func ping(t testing.TB, s *redistest.Server) bool {
	t.Helper()
	const patience = 100 * time.Millisecond
	c := redis.NewClient(&redis.Options{
		Addr: s.Addr(), DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, MaxRetries: -1, DialerRetries: 1,
	})
	defer func() { require.NoError(t, c.Close()) }()
	return c.Ping(t.Context()).Err() == nil
}

// tally is how many of some requests something is true of.
type tally struct{ of, all int }

func (c tally) share() float64 { return float64(c.of) / float64(max(1, c.all)) }

func (c tally) String() string { return fmt.Sprintf("%d of %d", c.of, c.all) }

// count counts the requests due at from or later and before to, and those of them that are so.
func (r *run) count(from, to time.Duration, so func(i int) bool) (c tally) {
	for i, s := range r.Samples {
		if from <= s.Due && s.Due < to {
			c.all++
			if so(i) {
				c.of++
			}
		}
	}
	return c
}

// decided tells whether the i-th request got a usable decision. Nobody is over a limit, so a refusal is none.
func (r *run) decided(i int) bool { return r.answers[i].err == nil && r.answers[i].admitted }

// shared tells whether the i-th request got a decision from Redis.
func (r *run) shared(i int) bool { return r.decided(i) && r.answers[i].shared }

// decidedInTime tells whether it did so before its client had to notice.
func (r *run) decidedInTime(i int) bool { return r.decided(i) && r.Samples[i].Latency <= inTime }

// ended returns when the i-th request had its answer, since the load began.
func (r *run) ended(i int) time.Duration { return r.Samples[i].Due + r.Samples[i].Latency }

// recovery returns how long Redis was back when it decided again, in time, nine of ten requests of a tenth of
// a second; false if it never did.
func (r *run) recovery() (time.Duration, bool) {
	const window = rate / 10
	for first, s := range r.Samples {
		if s.Due < r.back || first+window > len(r.Samples) {
			continue
		}
		good := func(i int) bool { return r.shared(i) && r.decidedInTime(i) }
		n := 0
		for i := first; i < first+window; i++ {
			if good(i) {
				n++
			}
		}
		if good(first) && n >= window*9/10 {
			return r.ended(first) - r.back, true
		}
	}
	return 0, false
}
