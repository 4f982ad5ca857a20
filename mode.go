package seawall

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Mode is how a layer or a policy acts. Of two modes the greater is the laxer.
type Mode uint8

// The modes.
const (
	Enforce Mode = iota // refuse
	LogOnly             // evaluate and report, never refuse
	Off                 // do nothing at all
)

// String returns "enforce", "log-only" or "off".
func (m Mode) String() string {
	switch m {
	case Enforce:
		return "enforce"
	case LogOnly:
		return "log-only"
	case Off:
		return "off"
	}
	return "unknown"
}

// Gate returns the mode for a request. It is called on every request: it must not block, fail or allocate.
type Gate func(r *Request) Mode

// Modes hands out gates when a Stack is built, and when a layer gets new limits: one per layer (policy is empty)
// and one per policy. A nil Gate stands for Enforce. It may take its time to find out the mode: no request waits
// for it. It is safe for concurrent use.
type Modes interface {
	Gate(layer, policy string) Gate
}

// Switch is Modes with one switch for everything.
type Switch interface {
	Modes
	// Off tells whether every layer is off for every request, now, so that nothing need be known of it. It must not block,
	// fail or allocate.
	Off() bool
}

// Fixed are modes that never change, by layer name or by "layer:policy". The zero value enforces. New refuses names that
// its layers and their policies do not have; of a [Reloader], which may get more, any policy will do.
type Fixed map[string]Mode

// Gate implements Modes.
func (f Fixed) Gate(layer, policy string) Gate {
	name := layer
	if policy != "" {
		name += ":" + policy
	}
	m := f[name]
	if m == Enforce {
		return nil
	}
	return func(*Request) Mode { return m }
}

// check returns an error if f has a mode for what is neither among names nor a policy that one of the reloading layers
// may get.
func (f Fixed) check(names, reloading map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		layer, policy, _ := strings.Cut(name, ":")
		if names[name] || reloading[layer] && ValidName("policy", policy) == nil {
			continue
		}
		known := slices.Sorted(maps.Keys(names))
		return fmt.Errorf("seawall: Modes has %q, which this stack does not; want one of %q", name, known)
	}
	return nil
}
