package flags

import (
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

// snapshot is what the flags come to. It is never changed, only replaced.
type snapshot struct {
	scale      float64
	off        bool        // the switch for everything, and for everyone
	flags      []state     // by the flag's number
	evaluators []evaluator // the same flags
	changed    uint64      // what callers had before is but a guess: the laxer of it and of what everybody has counts
	generation uint64      // what callers had in an earlier one is stale
}

// gate is a layer or a policy: the numbers of its flags, and what the current snapshot comes to for it.
type gate struct {
	enabled int // masterSwitch for a policy, which has no switch
	mode    int
	now     atomic.Uint32 // the mode that everyone has, or byCaller
}

// byCaller stands for the mode of a gate that callers may have modes of their own for.
const byCaller = 1 << 8

// masterSwitch is the number of the flag that switches everything.
const masterSwitch = 0

// register returns a gate, and its flags if it is new. Call it under mu.
func (f *Flags) register(layer, policy string) (g *gate, fresh []evaluator) {
	name, key := layer, f.cfg.Prefix+"-"+layer
	if policy != "" {
		name, key = name+":"+policy, key+"-"+policy
	}
	if g, ok := f.gates[name]; ok {
		return g, nil
	}
	g = &gate{enabled: masterSwitch}
	mode, perCaller := f.cfg.Defaults[name], f.callers != nil
	if policy == "" {
		g.enabled = len(f.flags)
		fresh = append(fresh, newSwitch(key+"-enabled", mode != seawall.Off, perCaller))
		if mode == seawall.Off {
			mode = seawall.Enforce
		}
	}
	g.mode = len(f.flags) + len(fresh)
	fresh = append(fresh, newMode(key+"-mode", mode, perCaller))

	f.gates[name] = g
	f.flags = append(f.flags, fresh...)
	f.publish()
	return g, fresh
}

// publish makes a snapshot of the last good values the current one. Call it under mu.
func (f *Flags) publish() {
	s := &snapshot{
		scale: f.scale.last,
		flags: make([]state, len(f.flags)), evaluators: f.flags, // which is only appended to
	}
	old := f.current.Load()
	for n, g := range f.flags {
		s.flags[n] = g.state()
		if s.flags[n].targeted && (old == nil || n >= len(old.flags) || !old.flags[n].targeted) {
			f.generation++ // of this flag, callers know nothing yet
		}
	}
	master := s.flags[masterSwitch]
	s.off = master.value == codeOff && !master.targeted
	differs := old == nil
	if old != nil {
		s.changed = old.changed
		for n, before := range old.flags { // of one that had no answer yet, callers have none either
			differs = differs || before.answered && s.flags[n] != before
		}
	}
	if differs {
		s.changed = f.generation
	}
	s.generation = f.generation
	for _, laxer := range [...]bool{true, false} {
		if !laxer {
			f.current.Store(s)
		}
		for _, g := range f.gates {
			now := uint32(s.mode(g, nil))
			if s.targeted(g) {
				now = byCaller
			}
			if was := g.now.Load(); !laxer || now != byCaller && now > was || now == byCaller && was == uint32(seawall.Enforce) {
				g.now.Store(now)
			}
		}
	}
}

// mode puts together the mode of a gate for a caller with values of its own, nil for none.
func (s *snapshot) mode(g *gate, own values) seawall.Mode {
	if g.enabled != masterSwitch && (s.value(masterSwitch, own) == codeOff || s.value(g.enabled, own) == codeOff) {
		return seawall.Off
	}
	return seawall.Mode(s.value(g.mode, own))
}

// value is a flag's for a caller: its own only as long as the flag is targeted, so that who replaces a
// targeting by a plain value reaches every caller at once.
func (s *snapshot) value(number int, own values) uint8 {
	if f := s.flags[number]; !f.targeted {
		return f.value
	}
	if v, ok := own.get(number); ok {
		return v
	}
	return s.flags[number].value
}

// targeted tells whether callers may have other modes than the gate has without one.
func (s *snapshot) targeted(g *gate) bool {
	mode := s.flags[g.mode]
	if g.enabled == masterSwitch {
		return mode.targeted
	}
	master, own := s.flags[masterSwitch], s.flags[g.enabled]
	for _, f := range [...]state{master, own} {
		if f.value == codeOff && !f.targeted {
			return false
		}
	}
	return master.targeted || own.targeted || mode.targeted
}
