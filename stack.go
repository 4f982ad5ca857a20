package seawall

import (
	"errors"
	"fmt"
	"time"
)

// The default waits of a Config.
const (
	DefaultWait       = 5 * time.Millisecond
	DefaultWaitClosed = 100 * time.Millisecond
)

// Config says what a Stack works with.
type Config struct {
	// Store evaluates the checks. Required unless every layer is local.
	Store Store
	// Modes are the kill switches and dark launches; nil enforces everything.
	Modes Modes
	// Observer is told what happens; nil is nobody.
	Observer Observer
	// Wait bounds how long a request waits for the store; zero is 5 ms. A store may have it wait longer (Prolong), as
	// store.Failover has requests that it would refuse by itself: up to WaitClosed.
	Wait time.Duration
	// WaitClosed is Wait for requests that meet a limit that fails closed, so that a blip is not an outage;
	// zero is 100 ms.
	WaitClosed time.Duration
}

// Stack is the engine: it takes a request through its layers and asks the store once. It is safe for
// concurrent use and starts no goroutine.
type Stack struct {
	store      Store
	observer   Observer
	wait       time.Duration
	waitClosed time.Duration
	switched   Switch   // nil if Config.Modes has none
	layers     []*layer // local ones first, otherwise as given
	base       time.Time
	works      works
}

// now is the stack's clock, which no setting of the wall clock changes.
func (s *Stack) now() time.Duration { return time.Since(s.base) }

// New builds a Stack. Local layers are asked first, since their answer is free; the others count in the
// order given. It tells a Store that is a [Member] how many workers this instance has, if a layer knows.
func New(cfg Config, layers ...Layer) (*Stack, error) {
	s := &Stack{store: cfg.Store, observer: Observers(cfg.Observer), wait: cfg.Wait, waitClosed: cfg.WaitClosed, base: time.Now()}
	s.switched, _ = cfg.Modes.(Switch)
	if s.wait == 0 {
		s.wait = DefaultWait
	}
	if s.waitClosed == 0 {
		s.waitClosed = DefaultWaitClosed
	}
	switch {
	case len(layers) == 0:
		return nil, errors.New("seawall: a stack needs at least one layer")
	case s.wait < 0:
		return nil, fmt.Errorf("seawall: Wait is %v; want a positive duration, or zero for %v", s.wait, DefaultWait)
	case s.waitClosed < 0:
		return nil, fmt.Errorf("seawall: WaitClosed is %v; want a positive duration, or zero for %v", s.waitClosed, DefaultWaitClosed)
	}
	var remote []*layer
	names, reloading := map[string]bool{}, map[string]bool{}
	for i, l := range layers {
		if l == nil {
			return nil, fmt.Errorf("seawall: layer %d is nil", i)
		}
		r, err := s.resolve(l, cfg.Modes, names)
		if err != nil {
			return nil, err
		}
		_, reloading[l.Name()] = l.(Reloader)
		if r.local != nil {
			s.layers = append(s.layers, r)
		} else {
			remote = append(remote, r)
		}
	}
	if len(remote) > 0 && s.store == nil {
		return nil, fmt.Errorf("seawall: layer %q needs Config.Store", remote[0].Name())
	}
	if f, ok := cfg.Modes.(Fixed); ok {
		if err := f.check(names, reloading); err != nil {
			return nil, err
		}
	}
	s.layers = append(s.layers, remote...)
	s.prepare(remote)
	s.join()
	return s, nil
}

func (s *Stack) resolve(l Layer, modes Modes, names map[string]bool) (*layer, error) {
	if isNil(l) {
		return nil, fmt.Errorf("seawall: a layer is a nil %T", l)
	}
	r := &layer{Layer: l, name: l.Name(), limits: l.Limits(), modes: modes}
	r.visit = &Limit{layer: r.name, name: r.name}
	r.local, _ = l.(Local)
	if r.local != nil && len(r.limits) != 1 {
		return nil, fmt.Errorf("seawall: local layer %q has %d limits; want one, which stands for it", l.Name(), len(r.limits))
	}
	unique := func(name string) error {
		if names[name] {
			return fmt.Errorf("seawall: %q is in the stack twice; want the policies of one kind in one layer", name)
		}
		names[name] = true
		return nil
	}
	if err := unique(l.Name()); err != nil {
		return nil, err
	}
	if modes != nil {
		r.gate = modes.Gate(l.Name(), "")
	}
	for _, limit := range r.limits {
		if err := unique(limit.Name()); err != nil {
			return nil, err
		}
	}
	r.resolveGates(r.limits)
	if re, ok := l.(Reloader); ok {
		re.OnLimits(r.resolveGates)
	}
	return r, nil
}

// prepare shows the store what a typical request asks.
func (s *Stack) prepare(layers []*layer) {
	p, ok := s.store.(Preparer)
	if !ok {
		return
	}
	var checks []Check
	for _, l := range layers {
		if t, ok := l.Layer.(Typical); ok {
			checks = append(checks, t.Typical())
		}
	}
	if len(checks) > 0 {
		p.Prepare(checks)
	}
}

// join announces the fleet's layer to the store.
func (s *Stack) join() {
	m, ok := s.store.(Member)
	if !ok {
		return
	}
	for _, l := range s.layers {
		if z, ok := l.Layer.(Sizer); ok {
			m.Join(z.Workers())
		}
	}
}

// Off tells whether the one switch for everything is off, if Config.Modes is a [Switch]: then whatever is asked of the
// Stack is admitted.
func (s *Stack) Off() bool { return s.switched != nil && s.switched.Off() }
