package flags

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// noAnswer stands in for a key where the provider as a whole is the problem.
const noAnswer = ""

// run evaluates flags until Close. It alone calls the provider, so at most one call hangs.
func (f *Flags) run() {
	defer close(f.stopped)
	ticker := time.NewTicker(f.cfg.Interval)
	defer ticker.Stop()
	var arrivals <-chan arrival // never, without targeting
	if f.callers != nil {
		arrivals = f.callers.arrivals
	}
	for {
		select {
		case <-f.ctx.Done():
			return
		case q := <-f.asked:
			f.evaluate(q)
		case <-f.changed:
			f.evaluateAll(false)
		case <-ticker.C:
			f.evaluateAll(true)
		case a := <-arrivals:
			f.evaluatePressing(ticker.C)
			f.evaluateCaller(a)
		}
	}
}

// evaluatePressing does what concerns everyone before a caller has its turn: a kill switch does not wait
// behind a crowd.
func (f *Flags) evaluatePressing(tick <-chan time.Time) {
	select {
	case q := <-f.asked:
		f.evaluate(q)
	default:
	}
	select {
	case <-f.changed:
		f.evaluateAll(false)
	case <-tick:
		f.evaluateAll(true)
	default:
	}
}

// evaluateAll evaluates every flag because something changed, or because it is time to. What callers have is
// stale by then, at once rather than each at its own time: that needs no clock on the request path.
func (f *Flags) evaluateAll(tick bool) {
	f.outdate()
	f.evaluate(question{flags: f.all()})
	f.settleCallers(tick)
	f.reportUnread()
}

// outdate makes stale what callers have.
func (f *Flags) outdate() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.callers != nil {
		f.generation++
		f.publish()
	}
}

// all returns every flag.
func (f *Flags) all() []evaluator {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.flags)
}

// evaluate asks the provider for each of the flags, kill switches first. What is laxer counts from the moment it
// arrives: a provider that hangs over one flag does not hold back the kill switch before it. What is stricter
// counts when all have been asked: a layer that is switched on in log-only mode is never enforced in between. It
// waits for another round if the flags have changed meanwhile, and once if one of them has begun to fail.
func (f *Flags) evaluate(q question) {
	over := f.watch()
	again := false
	for flags := q.flags; ; flags = f.all() {
		stricter, failed := f.round(flags)
		first := f.modesTold == nil // nothing was there before that it could not go with
		waits := failed && !first && !f.waited
		if f.torn++; f.torn > maxTorn || len(f.changed) == 0 && !waits {
			f.torn, f.waited = 0, false
			f.keep(stricter)
			break
		}
		f.waited = f.waited || waits
		if len(f.changed) == 0 || q.answered == nil {
			break // the next round will be
		}
		<-f.changed // now, since somebody waits for it
		f.outdate()
		again = true
	}
	over(q.answered)
	f.reportModes()
	if again {
		f.settleCallers(false)
		f.reportUnread()
	}
}

// maxTorn is how many rounds in a row may leave out what is stricter: flags that change all the time count, too.
const maxTorn = 10

// round asks for each of the flags once. It returns what is stricter, and whether a flag has begun to fail.
func (f *Flags) round(flags []evaluator) (stricter []reply, failed bool) {
	for _, g := range switchesFirst(flags) {
		ctx, cancel := context.WithTimeout(f.ctx, f.cfg.Timeout)
		answer, err := g.evaluate(ctx, f.cfg.Client)
		cancel()
		if f.ctx.Err() != nil { // closed: what looks like an error may be only that
			break
		}
		if err != nil {
			err = f.locate(g.name(), err)
		}
		f.mu.Lock()
		switch {
		case err != nil:
			failed = failed || f.problems[g.name()] == nil
		case answer.stricter:
			if answer.ease() {
				f.publish()
			}
			stricter = append(stricter, answer)
		case answer.keep():
			f.publish()
		}
		news := f.note(g.name(), err)
		f.mu.Unlock()
		f.report(news)
		if !g.isSwitch() && len(f.changed) > 0 && f.torn < maxTorn { // the switches again, before the rest
			break
		}
	}
	return stricter, failed
}

func switchesFirst(flags []evaluator) []evaluator {
	return slices.SortedStableFunc(slices.Values(flags), func(a, b evaluator) int {
		switch {
		case a.isSwitch() == b.isSwitch():
			return 0
		case a.isSwitch():
			return -1
		}
		return 1
	})
}

// keep makes answers the last good ones, all at once.
func (f *Flags) keep(answers []reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return
	}
	changed := false
	for _, a := range answers {
		changed = a.keep() || changed
	}
	if changed {
		f.publish()
	}
}

// watch notes while an evaluation is overdue, once after Timeout and again after every Interval, as long as
// it is not over.
func (f *Flags) watch() (over func(answered chan struct{})) {
	f.mu.Lock()
	defer f.mu.Unlock()
	isOver := false // guarded by mu
	var late *time.Timer
	late = time.AfterFunc(f.cfg.Timeout, func() {
		f.mu.Lock()
		var news error
		if !isOver && f.ctx.Err() == nil {
			f.overdue = true
			news = f.note(noAnswer, fmt.Errorf("the flag provider has not answered within %v", f.cfg.Timeout))
			late.Reset(f.cfg.Interval)
		}
		f.mu.Unlock()
		f.report(news)
	})
	return func(answered chan struct{}) {
		late.Stop()
		f.mu.Lock()
		defer f.mu.Unlock()
		isOver = true
		f.overdue = false
		delete(f.problems, noAnswer)
		if answered != nil {
			close(answered)
		}
	}
}

// note remembers what is wrong with a flag, nil if nothing, and returns it if that is news. Call it under mu.
func (f *Flags) note(key string, err error) (news error) {
	if err == nil {
		delete(f.problems, key)
		return nil
	}
	f.failures.Add(1)
	if old := f.problems[key]; old == nil || withoutNumbers(old) != withoutNumbers(err) {
		news = err
	}
	f.problems[key] = err
	return news
}

// locate says where a flag is written, if the Source knows.
func (f *Flags) locate(key string, err error) error {
	if l, ok := f.cfg.Source.(locator); ok {
		return fmt.Errorf("%s%w", l.Where(key), err)
	}
	return err
}

// report logs news. Not under mu: a logger may be slow.
func (f *Flags) report(news error) {
	if news != nil {
		f.cfg.Logger.Warn("seawall: a feature flag keeps its last good value", "error", news.Error())
	}
}

// withoutNumbers is an error's text but for ports, counts and durations, which make no news.
func withoutNumbers(err error) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, err.Error())
}
