package openloop

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Load is a schedule: For × Rate calls, evenly spaced.
type Load struct {
	// Rate is how many calls begin per second.
	Rate int
	// For is how long calls begin; Run returns when the last has ended.
	For time.Duration
	// Workers is how many calls may be under way at once; zero is as many as begin in a second.
	Workers int
}

// Sample is one call.
type Sample struct {
	// Call is the call's number, from 0.
	Call int
	// Due is when the call was to begin, since the start of the load.
	Due time.Duration
	// Latency is the time from then to the call's end.
	Latency time.Duration
}

// Record is what Run measured.
type Record struct {
	// Began is the start of the load.
	Began time.Time
	// Samples are the calls in the order in which they were due.
	Samples []Sample
}

// Run calls do with 0, 1, 2 … by the schedule, and returns when all calls have ended. When ctx is done, no
// further calls begin, and the record has those that did. A load without calls is an empty record.
func Run(ctx context.Context, load Load, do func(i int)) *Record {
	n := max(0, int(int64(load.Rate)*int64(load.For)/int64(time.Second)))
	workers := load.Workers
	if workers <= 0 {
		workers = load.Rate
	}
	samples := make([]Sample, n)
	for i := range samples {
		samples[i].Latency = unmeasured
	}
	rec := &Record{Began: time.Now()}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			timer := time.NewTimer(0)
			defer timer.Stop()
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				due := time.Duration(int64(i) * int64(time.Second) / int64(load.Rate))
				if !sleep(ctx, timer, time.Until(rec.Began.Add(due))) {
					return
				}
				do(i)
				samples[i] = Sample{Call: i, Due: due, Latency: time.Since(rec.Began) - due}
			}
		})
	}
	all.Wait()
	rec.Samples = slices.DeleteFunc(samples, func(s Sample) bool { return s.Latency == unmeasured })
	return rec
}

// unmeasured marks calls that never began.
const unmeasured = -1

// sleep waits, and tells whether ctx still was not done then.
func sleep(ctx context.Context, timer *time.Timer, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer.Reset(d)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
