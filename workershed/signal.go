package workershed

import "time"

// Signal is a measure of how busy this process is, beside its requests in flight: its CPU, its memory, the length of a
// queue. The largest of all measures is the utilization that the level follows.
type Signal struct {
	// Name is the signal's name in logs and metrics: 1 to 32 lower-case letters, digits and underscores.
	Name string

	// Read returns the utilization: 0 is idle, 1 is saturated, and what is above Config.High sheds. It may take long or
	// hang, which costs this signal only; calls do not overlap. now is the shedder's monotonic clock, for rates. What is
	// negative, NaN or infinite is an error like any other: the signal is left out until it can be read again.
	Read func(now time.Duration) (float64, error)

	// StaleAfter is how old a reading may get before the signal is left out; zero is 2 s.
	StaleAfter time.Duration
}
