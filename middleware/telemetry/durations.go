package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// bounds are the buckets, from 20 µs, about what a decision in memory takes under load, to 250 ms, more than any wait.
//
//nolint:gochecknoglobals // constant
var bounds = [...]time.Duration{
	20 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond,
}

// durations is a histogram of durations, for each value of one label. Of every request five are observed, which takes two
// additions each; prometheus.Histogram, with its hot and cold counts and a sum that is a float, takes several times as
// long.
type durations struct {
	desc *prometheus.Desc
	mu   sync.Mutex
	by   map[string]*duration
}

var _ prometheus.Collector = (*durations)(nil)

func newDurations(name, help, label string) *durations {
	return &durations{desc: prometheus.NewDesc(name, help, []string{label}, nil), by: map[string]*duration{}}
}

// with returns that of a value of the label.
func (d *durations) with(label string) *duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by[label] == nil {
		d.by[label] = new(duration)
	}
	return d.by[label]
}

// Describe implements prometheus.Collector.
func (d *durations) Describe(ch chan<- *prometheus.Desc) { ch <- d.desc }

// Collect implements prometheus.Collector.
func (d *durations) Collect(ch chan<- prometheus.Metric) {
	d.mu.Lock()
	all := maps.Clone(d.by)
	d.mu.Unlock()
	for label, one := range all {
		count, sum, buckets := one.read()
		ch <- prometheus.MustNewConstHistogram(d.desc, count, sum, buckets, label)
	}
}

// duration is one histogram. The zero duration is empty.
type duration struct {
	in  [len(bounds) + 1]atomic.Uint64 // by bucket, the last one what is longer than all
	sum atomic.Int64                   // in nanoseconds
}

func (d *duration) observe(took time.Duration) {
	i := 0
	for i < len(bounds) && took > bounds[i] {
		i++
	}
	d.in[i].Add(1)
	d.sum.Add(int64(took))
}

// read returns what Prometheus wants to know: how many there are, their sum in seconds, and how many are no longer than each
// bound. What is observed meanwhile may be in the sum and not yet in the others.
func (d *duration) read() (count uint64, sum float64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(bounds))
	for i, bound := range bounds {
		count += d.in[i].Load()
		buckets[bound.Seconds()] = count
	}
	return count + d.in[len(bounds)].Load(), time.Duration(d.sum.Load()).Seconds(), buckets
}
