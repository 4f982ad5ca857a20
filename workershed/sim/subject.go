package sim

import (
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/workershed"
)

// Shedder decides about requests as a [seawall.Local] layer does.
type Shedder interface {
	Enter(r *seawall.Request, m seawall.Mode) (seawall.Result, seawall.Ticket)
	Begin(t seawall.Ticket, spared bool) (seawall.Result, seawall.Ticket)
	Leave(t seawall.Ticket)
}

// Subject is a shedder that is tried in a scenario, once.
type Subject struct {
	Name    string
	Shedder Shedder
	// Mode is Enforce, LogOnly or Off.
	Mode seawall.Mode
	// Step is called with the time since the start of the run, every Every; nil if the shedder needs none.
	Step  func(now time.Duration)
	Every time.Duration
	// Level is how much is shed, from 0 to 1; nil is never anything.
	Level func() float64
	// Share is the share of a tier that is shed by level; nil is the same as Level for all but critical.
	Share func(t seawall.Tier) float64
}

// Worker returns a worker shedder as a subject, the very code that processes run, in virtual time.
func Worker(name string, cfg workershed.Config, m seawall.Mode) (Subject, error) {
	s, step, err := workershed.NewStepped(cfg)
	if err != nil {
		return Subject{}, err
	}
	every := cfg.Interval
	if every == 0 {
		every = workershed.DefaultInterval
	}
	return Subject{Name: name, Shedder: s, Mode: m, Step: step, Every: every, Level: s.Level, Share: s.ShedFraction}, nil
}

// None returns a service without a shedder.
func None() Subject { return Subject{Name: "none", Shedder: &bangBang{threshold: 1 << 62}} }

// BangBang returns a shedder with one threshold: with that many requests in flight per worker, all but critical ones are refused.
func BangBang(workers int, threshold float64) Subject {
	b := &bangBang{threshold: int64(threshold * float64(workers))}
	return Subject{Name: "bang-bang", Shedder: b, Level: b.level, Every: workershed.DefaultInterval, Step: func(time.Duration) {}}
}

type bangBang struct{ inFlight, threshold int64 }

func (b *bangBang) level() float64 {
	if b.inFlight >= b.threshold {
		return 1
	}
	return 0
}

func (b *bangBang) Enter(r *seawall.Request, _ seawall.Mode) (seawall.Result, seawall.Ticket) {
	if r.Tier < seawall.Critical && b.inFlight >= b.threshold {
		return seawall.Result{RetryAfter: time.Second}, 0
	}
	b.inFlight++
	return seawall.Result{Admitted: true}, 1
}

func (b *bangBang) Begin(t seawall.Ticket, _ bool) (seawall.Result, seawall.Ticket) {
	return seawall.Result{Admitted: true}, t
}

func (b *bangBang) Leave(seawall.Ticket) { b.inFlight-- }
