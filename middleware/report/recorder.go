package report

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

// DefaultCallers is how many callers of each policy a Recorder has places for if its Config does not say.
const DefaultCallers = 256

// maxCallers bounds what a typing error may cost, and how long making a report may hold requests up.
const maxCallers = 4096

// Config says what a Recorder keeps. The zero Config works.
type Config struct {
	// CallerID names callers, each differently: identity.Hasher.CallerID, so that all instances give a caller the same id.
	// Nil is a secret of this Recorder's own, whose ids mean nothing elsewhere.
	CallerID func(seawall.Key) string
	// Callers is how many callers of each policy there are places for; zero is 256, at most 4,096. Each takes about 500
	// bytes.
	Callers int
	// Fleet, if given, tells how many instances there are, so that a report can say what it covers: the store.
	Fleet seawall.Member
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Recorder is a seawall.Observer that counts who is, and who would be, refused. Give it to a Stack by
// [seawall.Observers], beside others. It is safe for concurrent use and does nothing in the background.
type Recorder struct {
	seawall.NopObserver
	callerID func(seawall.Key) string
	callers  int
	fleet    seawall.Member
	now      func() time.Time
	instance string

	book atomic.Pointer[book]
}

// book is what was counted since a moment.
type book struct {
	began   time.Time
	mu      sync.Mutex
	tallies atomic.Pointer[map[string]*tally] // by layer:policy; replaced, never changed
}

var _ seawall.Observer = (*Recorder)(nil)

// New returns a Recorder that begins to count.
func New(cfg Config) (*Recorder, error) {
	if cfg.Callers < 0 || cfg.Callers > maxCallers {
		return nil, fmt.Errorf("report: Config.Callers is %d; want 1 to %d, or zero for %d", cfg.Callers, maxCallers, DefaultCallers)
	}
	if cfg.Callers == 0 {
		cfg.Callers = DefaultCallers
	}
	if cfg.CallerID == nil {
		cfg.CallerID = seawall.NewSecret().CallerID
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Recorder{callerID: cfg.CallerID, callers: cfg.Callers, fleet: cfg.Fleet, now: cfg.Now, instance: rand.Text()[:8]}
	r.Reset()
	return r, nil
}

// Reset forgets what was counted: for a limit that has changed. Of caps, what is in flight then is counted too low.
func (r *Recorder) Reset() {
	b := &book{began: r.now()}
	b.tallies.Store(&map[string]*tally{})
	r.book.Store(b)
}

// instances is how many instances share the store, as far as is known.
func (r *Recorder) instances() int64 {
	if r.fleet == nil {
		return 1
	}
	return max(1, r.fleet.Fleet().Instances)
}

// moment is now.
func (r *Recorder) moment(b *book) moment {
	now := r.now()
	return moment{now.Sub(b.began), now.Unix()}
}

// Decided implements seawall.Observer.
func (r *Recorder) Decided(_ context.Context, req *seawall.Request, e seawall.Event) {
	if e.Check == nil || !e.Outcome.Refuses() {
		return
	}
	b := r.book.Load()
	b.tally(e.Check.Limit, r.callers).refused(r.moment(b), req, &e)
}

// Checked implements seawall.Observer.
func (r *Recorder) Checked(req *seawall.Request, checks []seawall.Check, results []seawall.Result) {
	b := r.book.Load()
	refusals, guesses := refusalsOf(results)
	var now moment
	var instances int64 // zero: neither has been looked up, which only listed callers are worth
	for i := range results {
		c, res := &checks[i], &results[i]
		t, key := b.tally(c.Limit, r.callers), c.Caller(req)
		t.requests[c.Mode()].Add(1)
		if !t.listed.mayHave(key) {
			continue
		}
		if instances == 0 {
			now, instances = r.moment(b), r.instances()
		}
		// What was not asked might have refused, too.
		others := refusals > 1 || refusals == 1 && res.Admitted || guesses > 1 || guesses == 1 && !res.Fallback
		t.checked(now, instances, key, c, res, !others)
	}
}

// Finished implements seawall.Observer.
func (r *Recorder) Finished(_ *seawall.Request, checks []seawall.Check, results []seawall.Result) {
	refusals, guesses := refusalsOf(results)
	if refusals != 1 || guesses > 0 {
		return
	}
	for i := range results {
		if _, held := checks[i].Rule.(seawall.Holder); held && !results[i].Admitted {
			r.book.Load().tally(checks[i].Limit, r.callers).finished(&checks[i], &results[i])
		}
	}
}

// refusalsOf counts what refuses, and what the store has not answered. Beside a denial that is repeated from memory nothing
// else was asked; that it would have admitted is what is likely.
func refusalsOf(results []seawall.Result) (refusals, guesses int) {
	repeated := false
	for i := range results {
		if !results[i].Admitted {
			refusals++
			repeated = repeated || results[i].Repeated
		}
		if results[i].Fallback {
			guesses++
		}
	}
	if repeated {
		guesses = 0
	}
	return refusals, guesses
}

// tally returns the one of a policy. There are as many as there are policies.
func (b *book) tally(l *seawall.Limit, callers int) *tally {
	if t := (*b.tallies.Load())[l.Name()]; t != nil {
		return t
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old := *b.tallies.Load()
	if t := old[l.Name()]; t != nil {
		return t
	}
	t := &tally{
		layer: l.Layer(), policy: l.Policy(), routes: map[place]*counts{}, listed: newFilter(callers),
		top: sketch{places: callers, known: map[seawall.Key]*entry{}},
	}
	next := maps.Clone(old)
	next[l.Name()] = t
	b.tallies.Store(&next)
	return t
}

// Report returns what was counted since New or Reset.
func (r *Recorder) Report() Report {
	b := r.book.Load()
	report := Report{Since: b.began.UTC().Round(0), Until: r.now().UTC().Round(0), Instances: []string{r.instance}, Policies: []Policy{}}
	if r.fleet != nil {
		report.Fleet = r.fleet.Fleet().Instances
	}
	at := func(since time.Duration) time.Time { return b.began.Add(since).UTC().Round(0) }
	for _, t := range *b.tallies.Load() {
		report.Policies = append(report.Policies, t.report(at, r.callerID))
	}
	report.sort()
	return report
}

// sort puts the policies in the order of their names.
func (r *Report) sort() {
	slices.SortFunc(r.Policies, func(a, b Policy) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Name, b.Name))
	})
}
