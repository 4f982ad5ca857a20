package flags

import "github.com/seawall-go/seawall"

// snapshot is what the flags come to. It is never changed, only replaced.
type snapshot struct {
	modes []seawall.Mode // by gate
	scale float64
	off   bool // the switch for everything
}

// gate is a layer or a policy.
type gate struct {
	enabled *flag[bool] // nil for a policy
	mode    *flag[seawall.Mode]
}

// register returns the index of a gate, and its flags if it is new. Call it under mu.
func (f *Flags) register(layer, policy string) (i int, fresh []evaluator) {
	name, key := layer, f.cfg.Prefix+"-"+layer
	if policy != "" {
		name, key = name+":"+policy, key+"-"+policy
	}
	if i, ok := f.index[name]; ok {
		return i, nil
	}
	var g gate
	mode := f.cfg.Defaults[name]
	if policy == "" {
		g.enabled = newSwitch(key+"-enabled", mode != seawall.Off)
		if mode == seawall.Off {
			mode = seawall.Enforce
		}
		fresh = append(fresh, g.enabled)
	}
	g.mode = newMode(key+"-mode", mode)
	fresh = append(fresh, g.mode)

	i = len(f.gates)
	f.index[name] = i
	f.gates = append(f.gates, g)
	f.flags = append(f.flags, fresh...)
	f.publish()
	return i, fresh
}

// publish makes a snapshot of the last good values the current one. Call it under mu.
func (f *Flags) publish() {
	s := &snapshot{modes: make([]seawall.Mode, len(f.gates)), scale: f.scale.last, off: !f.enabled.last}
	for i, g := range f.gates {
		s.modes[i] = g.mode.last
		if g.enabled != nil && !(f.enabled.last && g.enabled.last) {
			s.modes[i] = seawall.Off
		}
	}
	f.current.Store(s)
}
