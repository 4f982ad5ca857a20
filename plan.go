package seawall

// enter asks the local layers and returns the worst outcome.
func (a *Admission) enter() Outcome {
	worst := Allowed
	for _, l := range a.stack.layers {
		if l.local == nil {
			break
		}
		limit := l.limits[0]
		m := l.modeOf(limit, a.request, l.mode(a.request))
		if m == Off || worst == Denied || !a.request.first(l.visit) {
			continue
		}
		res, ticket := a.verdict(l, m)
		a.parts = append(a.parts, part{
			layer: l, mode: m, ticket: ticket, limit: limit, from: a.locals, to: a.locals + 1,
		})
		a.checks = append(a.checks, Check{Limit: limit, Key: a.request.Key, Cost: 1, Advisory: m == LogOnly})
		a.results = append(a.results, res)
		a.locals++
		if !res.Admitted && m == Enforce {
			worst = Denied
		} else if !res.Admitted {
			worst = WouldDeny
		}
	}
	return worst
}

// verdict asks a local layer. One that panics admits.
func (a *Admission) verdict(l *layer, m Mode) (res Result, ticket Ticket) {
	defer func() {
		if p := recover(); p != nil {
			a.stack.observer.Failed("verdict of "+l.name, &panicError{p})
			res, ticket = Result{Admitted: true, Fallback: true}, 0
		}
	}()
	return l.local.Enter(a.request, m)
}

// begin tells the local layers what became of the request. One that they refuse only now was admitted by the store, which
// is not asked again.
func (a *Admission) begin() {
	defer a.guard("begin")
	for i := range a.parts {
		p := &a.parts[i]
		if p.ticket == 0 || a.refused.denied() {
			continue
		}
		res, ticket := a.begun(p, p.mode == LogOnly && a.advised())
		p.ticket = ticket
		if !res.Admitted {
			a.results[p.from] = res
			a.walk()
		}
	}
	if a.refused.denied() {
		a.leave()
	}
}

// advised tells whether a layer would have refused the request, had it been enforced.
func (a *Admission) advised() bool {
	for i := range a.parts {
		if a.parts[i].outcome == WouldDeny {
			return true
		}
	}
	return false
}

// begun is the last word of a local layer. One that panics admits.
func (a *Admission) begun(p *part, spared bool) (res Result, ticket Ticket) {
	defer func() {
		if v := recover(); v != nil {
			a.stack.observer.Failed("beginning of "+p.layer.name, &panicError{v})
			res, ticket = Result{Admitted: true}, p.ticket
		}
	}()
	return p.layer.local.Begin(p.ticket, spared)
}

// plan collects the checks of the other layers that are on and that this request meets for the first time.
// Behind a local refusal in log-only mode no advisory check may commit, and none would be counted, so the
// store is not asked about them; their layers keep their part.
func (a *Admission) plan(local Outcome) {
	for _, l := range a.stack.layers {
		if l.local != nil {
			continue
		}
		m := l.mode(a.request)
		if m == Off {
			continue
		}
		from := len(a.checks)
		planned, err := l.planned(a.checks, a.request)
		if err != nil {
			a.stack.observer.Failed("plan of "+l.name, err)
			a.broken, a.spoilt = err, true
		}
		var first *Limit
		for i := range planned {
			c := &planned[i]
			cm := l.modeOf(c.Limit, a.request, m)
			if cm == Off || !a.request.first(c.Limit) {
				continue
			}
			if first == nil {
				first = c.Limit
			}
			c.Advisory = cm == LogOnly
			if !c.Advisory || local != WouldDeny {
				a.checks = appended(a.checks, c)
			}
		}
		if first != nil {
			a.parts = append(a.parts, part{layer: l, mode: m, limit: first, from: from, to: len(a.checks)})
		}
	}
}

// appended is checks with c, which in most cases is in its place already.
func appended(checks []Check, c *Check) []Check {
	if n := len(checks); n < cap(checks) && &checks[:n+1][n] == c {
		return checks[:n+1]
	}
	return append(checks, *c)
}

// present returns the layer's limits of now; those it had when the stack was built if it panics again.
func (l *layer) present() (limits []*Limit) {
	defer func() {
		if recover() != nil {
			limits = l.limits
		}
	}()
	return l.Limits()
}

// planned returns the checks that the layer appends to before, without those. If the layer panics it is not
// known which of its limits concern r; then they are all of them, to follow their failure policies.
func (l *layer) planned(before []Check, r *Request) (checks []Check, err error) {
	defer func() {
		if p := recover(); p != nil {
			checks, err = nil, &panicError{p}
			for _, limit := range l.present() {
				checks = append(checks, Check{Limit: limit, Key: r.Key, Cost: 1})
			}
		}
	}()
	return l.Plan(before, r)[len(before):], nil
}
