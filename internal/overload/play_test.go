package overload

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/openloop"
)

// capacity returns how many requests per second the process serves to a few callers that wait for each answer: enough to
// keep its processors busy, too few to be shed. They are critical, so the shedder lets them pass whatever happened before.
// It is the best of some tries, since whatever else the machine does can only slow them down.
func (p *payments) capacity(d time.Duration) float64 {
	const few, try = workers / 2, 400 * time.Millisecond
	best := 0.0
	for range int(d / try) {
		var served atomic.Int64
		began := time.Now()
		var all sync.WaitGroup
		for caller := range few {
			r := request{
				method: http.MethodPost, path: fmt.Sprintf("/v1/charges?ms=%d", workMs), key: fmt.Sprintf("sk_live_%d", caller),
			}
			all.Go(func() {
				for time.Since(began) < try {
					if p.do(r) == http.StatusOK {
						served.Add(1)
					}
				}
			})
		}
		all.Wait()
		best = max(best, float64(served.Load())/time.Since(began).Seconds())
	}
	return best
}

// answer is what became of a request.
type answer struct {
	request
	code    int           // 0 is no answer in time
	due     time.Duration // since the run's start
	latency time.Duration // since then
	late    time.Duration // when it was sent
}

// played is what was seen of all parts.
type played struct {
	parts     [][]answer
	generator []float64 // processors that this process took
	server    []float64 // and the command
	rates     []int
	seconds   []Second // without what the answers say
}

// play loads the process with the parts, one after the other, each with its multiple of the capacity. A part begins when
// the one before has sent its last request, not when that has been answered.
func (p *payments) play(t *testing.T, parts []Part, capacity float64) played {
	t.Helper()
	var waiting atomic.Int64
	out := played{
		parts: make([][]answer, len(parts)), rates: make([]int, len(parts)),
		generator: make([]float64, len(parts)), server: make([]float64, len(parts)),
		seconds: make([]Second, Record{Parts: parts}.Seconds()),
	}
	var all sync.WaitGroup
	began := time.Now()
	all.Go(func() { p.watch(began, out.seconds, &waiting) })
	next := time.Duration(0)
	for i, part := range parts {
		from := next
		length := time.Duration(part.Seconds) * time.Second
		out.rates[i] = max(1, int(part.Times*capacity))
		requests := mix(out.rates[i]*part.Seconds, uint64(i))
		time.Sleep(time.Until(began.Add(from))) // the schedule's
		own, servers := processorTime(t), p.processorTime()
		all.Go(func() { out.parts[i] = p.load(requests, from, out.rates[i], length, &waiting) })
		time.Sleep(time.Until(began.Add(from + length))) // the schedule's
		out.generator[i] = (processorTime(t) - own).Seconds() / length.Seconds()
		out.server[i] = (p.processorTime() - servers).Seconds() / length.Seconds()
		next += length
	}
	all.Wait()
	return out
}

// load sends the requests by their schedule.
func (p *payments) load(requests []request, from time.Duration, rate int, length time.Duration, waiting *atomic.Int64) []answer {
	answers := make([]answer, len(requests))
	sent := make([]time.Time, len(requests))
	room := rate * int(2*patience/time.Second) // twice of those that can be waiting
	rec := openloop.Run(context.Background(), openloop.Load{Rate: rate, For: length, Workers: room}, func(i int) {
		sent[i] = time.Now()
		waiting.Add(1)
		answers[i].code = p.do(requests[i])
		waiting.Add(-1)
	})
	for i, s := range rec.Samples {
		a := &answers[i]
		a.request, a.due, a.latency, a.late = requests[i], from+s.Due, s.Latency, sent[i].Sub(rec.Began)-s.Due
	}
	return answers
}

// watch notes at the end of every second how many clients wait, and what the process says of itself.
func (p *payments) watch(began time.Time, seconds []Second, waiting *atomic.Int64) {
	var all sync.WaitGroup
	defer all.Wait()
	for i := range seconds {
		time.Sleep(time.Until(began.Add(time.Duration(i+1) * time.Second))) // the schedule's
		seconds[i].Waiting = waiting.Load()
		all.Go(func() { _ = p.scrape(&seconds[i]) }) // a process that does not answer in time has nothing to say
	}
}

// processorTime returns what the command has had: zero where there is no /proc to ask.
func (p *payments) processorTime() time.Duration {
	proc, err := procfs.NewProc(p.pid)
	if err != nil {
		return 0
	}
	stat, err := proc.Stat()
	if err != nil {
		return 0
	}
	return time.Duration(stat.CPUTime() * float64(time.Second))
}

// processorTime returns what this process, which makes the load, has had.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
