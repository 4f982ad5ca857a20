package workershed

import (
	"fmt"
	"math"
	"time"
)

// Signal is a measure of how busy this process is, beside its requests in flight: its CPU, its memory, the length of a
// queue. The largest of all measures is the utilization that the level follows.
type Signal struct {
	// Name is the signal's name in logs and metrics: 1 to 32 lower-case letters, digits and underscores.
	Name string

	// Read returns the utilization: 0 is idle, 1 is saturated, and what is above Config.High sheds. It may take long or
	// hang, which costs this signal only; calls do not overlap. now is the shedder's monotonic clock, for rates. What is
	// negative, NaN or infinite is an error like any other: the signal is left out until it can be read again.
	Read func(now time.Duration) (float64, error)

	// StaleAfter is how old a reading may get before the signal is left out; zero is 2 s, or four intervals if that is more.
	StaleAfter time.Duration
}

// SignalState is what is known of a signal.
type SignalState struct {
	Name string
	// Value is the last reading.
	Value float64
	// Err is why the signal is left out, whatever Value says; nil if it is not.
	Err error
}

// The bounds of signals.
const (
	maxSignals = 16
	staleAfter = 2 * time.Second
)

// validName tells whether a signal's name can be a label.
func validName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z':
		case i > 0 && (c == '_' || '0' <= c && c <= '9'):
		default:
			return false
		}
	}
	return name != "" && len(name) <= 32
}

// validateSignals expects the zero values to have been replaced.
func validateSignals(signals []Signal, interval time.Duration) error {
	if len(signals) > maxSignals {
		return invalid("Signals", fmt.Sprintf("a list of %d", len(signals)), fmt.Sprintf("at most %d", maxSignals))
	}
	seen := map[string]bool{}
	for i, s := range signals {
		field := fmt.Sprintf("Signals[%d]", i)
		switch {
		case !validName(s.Name):
			return invalid(field+".Name", fmt.Sprintf("%.40q", s.Name), "a letter and up to 31 lower-case letters, digits and underscores")
		case seen[s.Name]:
			return invalid(field+".Name", fmt.Sprintf("%q", s.Name), "a name that no other signal has")
		case s.Read == nil:
			return invalid(field+".Read", "nil", "a function that reads the signal")
		case s.StaleAfter < 2*interval:
			return invalid(field+".StaleAfter", s.StaleAfter, fmt.Sprintf("at least %v, two intervals, or zero for the default", 2*interval))
		}
		seen[s.Name] = true
	}
	return nil
}

// utilization returns u, or why it is none.
func utilization(u float64) (float64, error) {
	if !(u >= 0) || math.IsInf(u, 1) { // NaN is not >= 0
		return 0, fmt.Errorf("the reading is %v; want a finite number from 0", u)
	}
	return u, nil
}
