package proof

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
)

// leaseWorld is what a trace of leases happens in: one clock, the model, stores that should do as it does, of as many
// instances each, and the requests that hold slots.
type leaseWorld struct {
	world
	keepers []keeper
	manner  manner
	desks   []*desk
	held    []*holding
	seen    leaseTally
}

// holding is a lease that was granted, or claimed.
type holding struct {
	request
	instance int
	until    int64     // by its last renewal, in ms; 0 once something happened to it that may have ended it before
	due      time.Time // when its instance renews it, by the same clock
	granted  bool      // by an enforced check
	released bool
	crashed  bool // its instance died
	forgot   bool // its instance forgot it
}

// live tells whether a request is in flight that has the slots.
func (h *holding) live() bool { return !h.released && !h.crashed }

// leaseTally counts what happened in traces.
type leaseTally struct{ asked, granted, refused, released, renewed, lost, crashes, losses int }

func newLeaseWorld(m manner, desks []*desk, keepers ...keeper) *leaseWorld {
	return &leaseWorld{keepers: keepers, manner: m, desks: desks}
}

// set moves all clocks. A clock that steps back ends nothing, but what it ends later is not known any more.
func (w *leaseWorld) set(now int64) {
	if w.manner.backwards && now%1e6%64 == 0 {
		now++ // then Redis would forget what has expired, and it would not come back with the clock
	}
	for _, h := range w.held {
		if now < w.now {
			h.until = 0
			h.desk.disturbed = true
		}
		if h.live() && now/1000 >= h.until {
			h.desk.disturbed = true // its slots may be given to others
		}
	}
	w.now = now
	for _, k := range w.keepers {
		k.instances()[0].set(now)
	}
}

// ask has all stores and the model decide a request, and compares.
func (w *leaseWorld) ask(t rapid.TB, instance int, checks []request) []seawall.Result {
	t.Helper()
	for i := range checks {
		w.lastID++
		checks[i].id = w.lastID
		w.note("at %d: %v", instance, checks[i])
	}
	var want []seawall.Result
	for _, k := range w.keepers {
		asked := real(k, checks)
		got := k.instances()[instance].apply(t, asked)
		if want == nil {
			want = w.explain(checks, got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s\n%s: check %d is told\n  %s, last %v\nwant\n  %s, last %v", strings.Join(w.history, "\n"), k.name(), i+1,
					told(got[i]), got[i].Last, told(want[i]), want[i].Last)
			}
		}
	}
	for i, c := range checks {
		w.learn(t, instance, c, want[i])
	}
	return want
}

func real(k keeper, checks []request) (all []seawall.Check) {
	for _, c := range checks {
		all = append(all, c.real(k))
	}
	return all
}

// learn remembers what a check was told, and looks at what must be so whatever the model says.
func (w *leaseWorld) learn(t rapid.TB, instance int, c request, r seawall.Result) {
	w.note("  %s", told(r))
	w.seen.asked++
	if c.op == seawall.Reset {
		w.lost(func(h *holding) bool { return h.desk == c.desk })
		c.desk.last = r
		return
	}
	require.GreaterOrEqual(t, r.Remaining, int64(0))
	require.LessOrEqual(t, r.Remaining, r.Limit, "less than nothing is in flight")
	c.desk.last = r
	if s, ok := c.rule.slots(); ok && (!r.Admitted || c.countOnly) {
		for _, h := range w.held { // a longer lease looks like one from before the clock stepped back
			if h.desk == c.desk {
				h.until = min(h.until, w.now/1000+s.TTL.Milliseconds())
			}
		}
	}
	if !r.Committed {
		w.seen.refused++
		return
	}
	w.seen.granted++
	s, ok := c.rule.slots()
	if !ok {
		return
	}
	h := &holding{request: c, instance: instance, granted: !c.advisory && !c.countOnly}
	if h.granted {
		w.fits(t, h)
	}
	w.held = append(w.held, h)
	w.renewed(h)
	if !h.granted || c.desk.disturbed {
		return
	}
	if all := w.inFlight(h, func(h *holding) bool { return h.live() && h.granted }); all > s.Max {
		t.Fatalf("%d are in flight on %s:\n%s", all, c.desk.name, strings.Join(w.history, "\n"))
	}
}

// fits: whoever is granted a slot fits beside all leases that nothing has happened to since they were taken or
// renewed. That holds whatever has happened before.
func (w *leaseWorld) fits(t rapid.TB, granted *holding) {
	s, _ := granted.rule.slots()
	kept := w.inFlight(granted, func(h *holding) bool { return !h.released && h.until > w.now/1000 })
	if kept+granted.takes() > s.Max {
		t.Fatalf("%v was granted beside %d:\n%s", granted, kept, strings.Join(w.history, "\n"))
	}
}

// inFlight is how many slots of a holding's desk the leases take that it is asked about, as its rule counts.
func (w *leaseWorld) inFlight(by *holding, is func(*holding) bool) (n int64) {
	s, _ := by.rule.slots()
	for _, h := range w.held {
		if h.desk == by.desk && is(h) {
			n += s.Takes(h.takes())
		}
	}
	return n
}

// renewed says that a lease begins anew.
func (w *leaseWorld) renewed(h *holding) {
	s, _ := h.rule.slots()
	h.until = w.now/1000 + s.TTL.Milliseconds()
	h.due = time.UnixMicro(w.now).Add(s.TTL / 3)
}

// lost says that stores have forgotten some leases.
func (w *leaseWorld) lost(is func(*holding) bool) {
	for _, h := range w.held {
		if is(h) {
			h.until, h.desk.disturbed = 0, true
		}
	}
}
