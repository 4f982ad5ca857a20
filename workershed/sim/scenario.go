package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Scenario is a service and what its clients do. The zero value of a field is its default.
type Scenario struct {
	Name string

	// For is how long calls arrive; the run ends when all have been answered, at the latest after as long again.
	For time.Duration

	// Workers is how many requests the service can work on at once; zero is 40.
	Workers int
	// Service is how long a request is worked on, in the mean; zero is 200 ms.
	Service time.Duration
	// Work is how the time of requests is spread around that; nil is Exponential.
	Work Work
	// Discipline is what happens to requests beyond Workers; the zero value has them wait in line.
	Discipline Discipline
	// Slow is a factor on Service for requests that begin at a time; nil is 1.
	Slow Curve
	// Left is the share of Workers that are there at a time; nil is 1.
	Left Curve

	// Load is how many calls arrive, as a multiple of Workers ÷ Service; nil is 0.6.
	Load Curve
	// Overload is the time in which the load is more than the service can take; it is what results are about.
	Overload Span

	// Mix is what share of the calls is of each tier, from test mode to critical; zero is 0.1, 0.5, 0.2 and 0.2.
	Mix [4]float64
	// Callers is how many there are of each tier; zero is 200.
	Callers int
	// Skew is how unevenly calls are spread over them: the share of the caller of rank k is proportional to k^-Skew.
	Skew float64

	// Patience is how long a client waits for an answer before it gives up; zero is 2 s.
	Patience time.Duration
	// Cancels says that a request is dropped when its client gives up while it waits in line. If not, it is worked on for nobody,
	// as by most handlers.
	Cancels bool
	// Retry is what clients do after a refusal.
	Retry Retry

	// Seed makes another run of the same scenario.
	Seed uint64
}

// Work draws the time of a request as a multiple of the mean.
type Work func(*rand.Rand) float64

// Exponential has many short requests and some long ones.
func Exponential(r *rand.Rand) float64 { return r.ExpFloat64() }

// Regular has all requests take as long.
func Regular(*rand.Rand) float64 { return 1 }

// LongTail has few requests that take very long: a lognormal distribution, in which sigma 1.5 has 1 % take 10 times the mean or more.
func LongTail(sigma float64) Work {
	return func(r *rand.Rand) float64 { return math.Exp(sigma*r.NormFloat64() - sigma*sigma/2) }
}

// Retry is how clients repeat a call. The zero value never does.
type Retry struct {
	// Times is how often a call is repeated.
	Times int
	// After is the wait before the first repetition, spread from half of it to one and a half.
	After time.Duration
	// Doubling doubles the wait each time.
	Doubling bool
	// Impatient clients repeat a call, too, when they have given up on its answer.
	Impatient bool
	// Obedient clients wait at least as long as Retry-After says.
	Obedient bool
}

// Span is from From up to To.
type Span struct{ From, To time.Duration }

func (s Span) has(t time.Duration) bool { return t >= s.From && t < s.To }

// Curve is a quantity over time.
type Curve func(at time.Duration) float64

// Always is the same at all times.
func Always(v float64) Curve { return func(time.Duration) float64 { return v } }

// During is v within a span and otherwise outside it.
func During(s Span, v, otherwise float64) Curve {
	return func(at time.Duration) float64 {
		if s.has(at) {
			return v
		}
		return otherwise
	}
}

// Wave swings between low and high, from low, once in a period.
func Wave(low, high float64, period time.Duration) Curve {
	return func(at time.Duration) float64 {
		return low + (high-low)*(1-math.Cos(2*math.Pi*float64(at)/float64(period)))/2
	}
}

// Square is low for half a period and high for the other half.
func Square(low, high float64, period time.Duration) Curve {
	return func(at time.Duration) float64 {
		if at%period < period/2 {
			return low
		}
		return high
	}
}

// Within is c within a span and v outside it.
func Within(s Span, c Curve, v float64) Curve {
	return func(at time.Duration) float64 {
		if s.has(at) {
			return c(at)
		}
		return v
	}
}

const (
	defaultWorkers = 40
	maxWorkers     = 10_000
	maxCallers     = 100_000
	maxLoad        = 100
)

// resolve returns s with its zero values replaced, or what is wrong with it.
func (s Scenario) resolve() (Scenario, error) {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&s.Service, 200*time.Millisecond)
	def(&s.Patience, 2*time.Second)
	if s.Workers == 0 {
		s.Workers = defaultWorkers
	}
	if s.Callers == 0 {
		s.Callers = 200
	}
	if s.Mix == [4]float64{} {
		s.Mix = [4]float64{0.1, 0.5, 0.2, 0.2}
	}
	if s.Work == nil {
		s.Work = Exponential
	}
	for _, c := range []struct {
		curve *Curve
		v     float64
	}{{&s.Slow, 1}, {&s.Left, 1}, {&s.Load, 0.6}} {
		if *c.curve == nil {
			*c.curve = Always(c.v)
		}
	}
	return s, s.validate()
}

func (s Scenario) validate() error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("sim: scenario %q: %s is %v; want %s", s.Name, field, value, want)
	}
	sum := 0.0
	for _, share := range s.Mix {
		if !(share >= 0) || math.IsInf(share, 1) {
			return bad("Mix", s.Mix, "shares from 0")
		}
		sum += share
	}
	switch {
	case s.For <= 0 || s.For > 7*24*time.Hour:
		return bad("For", s.For, "more than 0, at most a week")
	case s.Workers < 1 || s.Workers > maxWorkers:
		return bad("Workers", s.Workers, fmt.Sprintf("1 to %d", maxWorkers))
	case s.Service < 10*time.Microsecond || s.Service > time.Hour:
		return bad("Service", s.Service, "10µs to 1h")
	case s.Discipline > Free:
		return bad("Discipline", s.Discipline, "Line, Share or Free")
	case math.Abs(sum-1) > 1e-6:
		return bad("Mix", s.Mix, "shares that add up to 1")
	case s.Callers < 1 || s.Callers > maxCallers:
		return bad("Callers", s.Callers, fmt.Sprintf("1 to %d", maxCallers))
	case !(s.Skew >= 0 && s.Skew <= 5):
		return bad("Skew", s.Skew, "0 to 5")
	case s.Patience < 0:
		return bad("Patience", s.Patience, "a positive duration, or zero for the default")
	case s.Retry.Times < 0 || s.Retry.Times > 100:
		return bad("Retry.Times", s.Retry.Times, "0 to 100")
	case s.Retry.After < 0:
		return bad("Retry.After", s.Retry.After, "at least 0")
	}
	return nil
}
