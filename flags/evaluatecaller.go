package flags

import (
	"context"

	"github.com/open-feature/go-sdk/openfeature"
)

// evaluateCaller asks the provider for a caller's values of the flags that are targeted. Where it gives none,
// the caller keeps those it has.
func (f *Flags) evaluateCaller(a arrival) {
	defer f.callers.leave(a.key)
	s := f.current.Load()
	old, known := f.callers.known.GetIfPresent(a.key)
	if f.ctx.Err() != nil || known && old.generation >= s.generation {
		return
	}
	id, err := f.callers.targeting.id(a.key)
	f.noteCaller(callerIDFunc, err)
	f.noteCaller(attributesFunc, a.err)
	next := &caller{generation: s.generation, own: make(values, len(s.flags))}
	if known {
		for n, v := range s.flags {
			if code, ok := old.own.get(n); ok && v.targeted {
				next.own.set(n, code)
			}
		}
	}
	if id != "" && !f.askFor(openfeature.NewEvaluationContext(id, a.attributes), s, next.own) {
		return
	}
	f.callers.known.Set(a.key, next)
}

// askFor asks for a caller's values, for Timeout if the provider minds; false if Flags were closed meanwhile.
func (f *Flags) askFor(who openfeature.EvaluationContext, s *snapshot, own values) bool {
	ctx, cancel := context.WithTimeout(f.ctx, f.cfg.Timeout)
	defer cancel()
	over := f.watch()
	defer over(nil)
	for n, g := range s.evaluators {
		if !s.flags[n].targeted {
			continue
		}
		code, err := g.evaluateFor(ctx, f.cfg.Client, who)
		if f.ctx.Err() != nil {
			return false
		}
		if err == nil {
			own.set(n, code)
		} else {
			err = f.locate(g.name(), err)
		}
		f.noteCaller(g.name(), err)
	}
	return true
}
