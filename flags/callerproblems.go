package flags

// The functions of Targeting that can panic, where problems have the keys of flags.
const (
	callerIDFunc   = "Targeting.CallerID"
	attributesFunc = "Targeting.Attributes"
)

const (
	// overAfter is how many ticks in a row a problem concerned nobody when it is taken to be over.
	overAfter = 2
	// newsAfter is after how many it is news again. Callers that come once in a while do not fill a log.
	newsAfter = 100
)

// callerProblem is what was wrong when a flag was evaluated for callers: one per flag, however many callers
// and however it reads for each. It outlives callers for whom nothing is wrong.
type callerProblem struct {
	err      error // of the last caller it concerned; nil: it seems to be over
	helped   bool  // it was over after a change, so that it would be news
	quiet    int   // ticks in a row without any
	outdated bool  // something changed since
}

// noteCaller remembers what was wrong with a flag for a caller, nil if nothing, and logs it if that is news.
func (f *Flags) noteCaller(key string, err error) {
	f.mu.Lock()
	p, known := f.callerProblems[key]
	switch {
	case err != nil:
		f.failures.Add(1)
		f.callerProblems[key] = callerProblem{err: err}
	case known && p.outdated:
		p.err, p.helped = nil, true
		f.callerProblems[key] = p
	}
	f.mu.Unlock()
	if err != nil && (!known || p.helped) {
		f.report(err)
	}
}

// settleCallers ages problems, at a tick or after a change, and forgets those of flags that are not targeted
// any more. After a change, the first caller for whom nothing is wrong shows that it helped.
func (f *Flags) settleCallers(tick bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.callerProblems) == 0 {
		return
	}
	targeted := map[string]bool{callerIDFunc: true, attributesFunc: true}
	for _, g := range f.flags {
		targeted[g.name()] = g.state().targeted
	}
	for key, p := range f.callerProblems {
		if tick {
			p.quiet++
		} else {
			p.outdated = true
		}
		if p.quiet >= overAfter {
			p.err = nil
		}
		f.callerProblems[key] = p
		if !targeted[key] || p.quiet >= newsAfter {
			delete(f.callerProblems, key)
		}
	}
}
