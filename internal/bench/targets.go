package bench

// Target is what a line has to reach.
type Target struct {
	Name string
	Work string
	Unit string // of the figures; empty is a bare number
	// To names what the ratio is to; empty is a target of the figure itself.
	To string
	// Want is how the figure has to compare to Value. None is a line without a target.
	Want  Want
	Value float64
}

// Want is a comparison.
type Want uint8

// The comparisons.
const (
	None Want = iota
	AtMost
	AtLeast
)

// Targets are all lines of the table, in its order: those of the design, and what the whole process has to reach. They are
// written down here and nowhere in a record, so that a run cannot have others.
func Targets() []Target {
	return []Target{
		{"decision-10k", "in process: one bucket, 10 k keys, 2 goroutines", "ns", sethvargo, AtMost, 0.6},
		{"decision-10k-allocs", "the same, allocations", "", "", AtMost, 0},
		{"decision-1m", "in process: one bucket, 1 M keys, 2 goroutines", "ns", sethvargo, AtMost, 0.6},
		{"decision-1m-allocs", "the same, allocations", "", "", AtMost, 0},

		{"redis-three-noop", "Redis: three layers in one call, one caller at a time", "us", emptyScript, AtMost, 1.5},
		{"redis-three-separate", "the same, beside three calls", "us", "three calls", AtMost, 0.42},
		{"redis-three-patient", "the same with a wait budget", "us", emptyScript, None, 0},
		{"redis-one", "Redis: one bucket, one caller at a time, with a wait budget", "us", redisRateName, AtMost, 1.05},
		{"redis-crowd-one", "Redis: one bucket, 256 callers", "k/s", redisRateName, AtLeast, 2.5},
		{"redis-crowd-three", "Redis: three layers, 256 callers", "k/s", redisRateName + " (one bucket)", AtLeast, 1.5},
		{"redis-cpu-alone", "Redis' time in scripts: three layers, alone", "us", redisRateName + " (one bucket)", AtMost, 1.45},
		{"redis-cpu-batch", "Redis' time in scripts: three layers, batches of 16", "us", redisRateName + " (one bucket)", AtMost, 1.15},

		{"echo-ns", "Echo: full stack on memstore with telemetry, added to a request", "ns", "", AtMost, 1200},
		{"echo-allocs", "the same, allocations", "", "", AtMost, 3},
		{"echo-key-ns", "the same with a hashed API key", "ns", "", None, 0},
		{"echo-key-allocs", "the same, allocations", "", "", None, 0},
		{"shedder", "shedder: one request in and out", "ns", "the best peer", None, 0},

		{"deny-ns", "deny cache: an exhausted key", "ns", "", AtMost, 200},
		{"deny-commands", "the same, Redis commands", "", "", AtMost, 0},
		{"memory", "Redis memory: 200 k keys, compact names", "MB", "", AtMost, 24},
		{"memory-hash", "the same, readable names", "MB", twoFields, AtMost, 0.75},

		{"frozen-before", "Redis frozen: p99 of what is added until the breaker opens", "ms", "", AtMost, 8},
		{"frozen-after", "the same, once it is open", "ms", "", AtMost, 0.3},
		{"frozen-served", "the same, served", "%", "", AtLeast, 100},
		{"fleet", "ten instances without Redis: admitted", "requests", "the limit", AtMost, 1.2},
		{"cores-bucket", "50 k decisions/s, 200 k callers: one bucket", "cores of Redis", "", AtMost, 0.35},
		{"cores-three", "the same, three layers with releases", "cores of Redis", "", AtMost, 0.7},

		{"process-spin", "whole process: throughput on memstore, 1 ms of a processor", "/s", "bare Echo", AtLeast, 0.95},
		{"process-sleep", "whole process: throughput on memstore, 1 ms asleep", "/s", "bare Echo", AtLeast, 0.95},
		{"process-redis-p99", "whole process: added p99 on Redis", "ms", "", AtMost, 1},
	}
}

// Names that targets and measurements have in common.
const (
	sethvargo     = "sethvargo/go-limiter"
	redisRateName = "redis_rate"
	emptyScript   = `EVALSHA "return 1"`
	twoFields     = "two-field hash"
)

// value is what is compared with the target.
func (t Target) value(l Line) float64 {
	if t.To != "" && l.Ratio != nil {
		return l.Ratio.Median
	}
	return l.Ours.Median
}

// Reached tells whether the line reaches its target. What was not measured does not; nor does a target of a ratio that
// has none.
func (t Target) Reached(l Line) bool {
	if l.Name != t.Name || t.To != "" && l.Ratio == nil {
		return false
	}
	switch v := t.value(l); t.Want {
	case AtMost:
		return v <= t.Value
	case AtLeast:
		return v >= t.Value
	}
	return false
}

// Count returns how many lines reach their target, of how many that have one.
func Count(r Record) (reached, all int) {
	for _, t := range Targets() {
		if t.Want == None {
			continue
		}
		all++
		if l, ok := r.Line(t.Name); ok && t.Reached(l) {
			reached++
		}
	}
	return reached, all
}
