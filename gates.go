package seawall

import (
	"maps"
	"sync"
	"sync/atomic"
)

// layer is a Layer with what the engine resolved for it once.
type layer struct {
	Layer
	name   string
	local  Local    // nil if the store decides
	limits []*Limit // when the stack was built
	visit  *Limit   // stands for a local layer, by its name
	gate   Gate
	modes  Modes

	mu     sync.Mutex
	known  atomic.Pointer[map[*Limit]Gate] // of the limits that the layer has told; replaced, never changed
	others sync.Map                        // *Limit to Gate, of those that it has not; nil ones too
}

// resolveGates asks for the gates of limits that are new.
func (l *layer) resolveGates(limits []*Limit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := map[*Limit]Gate{}
	if old := l.known.Load(); old != nil {
		maps.Copy(next, *old)
	}
	for _, limit := range limits {
		if _, known := next[limit]; !known {
			next[limit] = l.gateOf(limit)
		}
	}
	l.known.Store(&next)
}

func (l *layer) gateOf(limit *Limit) Gate {
	if l.modes == nil {
		return nil
	}
	return l.modes.Gate(limit.Layer(), limit.Policy())
}

// mode is the layer's own mode for r.
func (l *layer) mode(r *Request) Mode { return ask(l.gate, r) }

// modeOf is the mode of one of the layer's limits, given the layer's own.
func (l *layer) modeOf(limit *Limit, r *Request, own Mode) Mode {
	if l.modes == nil {
		return own
	}
	g, known := (*l.known.Load())[limit]
	if !known {
		g = l.other(limit)
	}
	return max(own, ask(g, r))
}

// other asks once for the gate of a limit that the layer has not told of.
func (l *layer) other(limit *Limit) Gate {
	if g, known := l.others.Load(limit); known {
		return g.(Gate)
	}
	g := l.gateOf(limit)
	l.others.Store(limit, g)
	return g
}

// ask returns what the gate says. Without a gate, or if it panics, that is Enforce.
func ask(g Gate, r *Request) Mode {
	if g == nil {
		return Enforce
	}
	return answer(g, r)
}

func answer(g Gate, r *Request) (m Mode) {
	defer func() {
		if recover() != nil {
			m = Enforce
		}
	}()
	return g(r)
}
