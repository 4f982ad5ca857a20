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
	over := f.watch() // begins before the application's part, which may hang, too
	defer over(nil)
	id, err := f.callers.targeting.id(a.key)
	f.noteCaller(callerIDFunc, err)
	f.noteCaller(attributesFunc, a.err)
	next := &caller{generation: s.generation, own: make(values, len(s.flags))}
	failed, done := false, true
	if id != "" {
		failed, done = f.askFor(openfeature.NewEvaluationContext(id, a.attributes), s, next.own)
	}
	if !done {
		return
	}
	next.failed = failed
	if known {
		next.keep(old, s, failed && !old.failed)
	}
	f.callers.known.Set(a.key, next)
}

// keep has a caller keep the values that it has where the provider gave none. If it gave some and failed over others,
// the laxer of old and new counts: they may belong together.
func (c *caller) keep(old *caller, s *snapshot, failed bool) {
	for n, v := range s.flags {
		before, known := old.own.get(n)
		if !known || !v.targeted {
			continue
		}
		switch now, given := c.own.get(n); {
		case !given:
			c.own.set(n, before)
		case failed:
			c.own.set(n, s.evaluators[n].laxerOf(before, now))
		}
	}
}

// askFor asks for a caller's values, for Timeout each if the provider minds, and tells whether it failed over any; done is
// false if Flags were closed or the flags changed meanwhile, which comes first.
func (f *Flags) askFor(who openfeature.EvaluationContext, s *snapshot, own values) (failed, done bool) {
	for n, g := range s.evaluators {
		if !s.flags[n].targeted {
			continue
		}
		ctx, cancel := context.WithTimeout(f.ctx, f.cfg.Timeout)
		code, err := g.evaluateFor(ctx, f.cfg.Client, who)
		cancel()
		if f.ctx.Err() != nil {
			return failed, false
		}
		if len(f.changed) > 0 && f.cutShort < maxTorn {
			f.cutShort++
			return failed, false
		}
		if err == nil {
			own.set(n, code)
		} else {
			failed, err = true, f.locate(g.name(), err)
		}
		f.noteCaller(g.name(), err)
	}
	f.cutShort = 0
	return failed, true
}
