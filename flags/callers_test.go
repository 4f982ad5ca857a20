package flags_test

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/stretchr/testify/require"
)

func TestWhatACallerHasIsRefreshed(t *testing.T) {
	t.Parallel()
	p, f := aim(t, rules{"seawall-ratelimit-mode": one("enforce", "log-only", "alice")}, nil, flags.Config{})
	g := f.Gate("ratelimit", "")
	comes(t, seawall.Enforce, g, from("alice"))
	p.UpdateFlags(rules{"seawall-ratelimit-mode": one("log-only", "enforce", "alice")}.flags(nil))
	comes(t, seawall.LogOnly, g, from("alice"), "after a change")
	comes(t, seawall.Enforce, g, from("bob"))

	var own atomic.Value // what changes without an event
	own.Store("enforce")
	_, f = aim(t, rules{"seawall-ratelimit-mode": func(id string, _ openfeature.FlattenedContext) any {
		if id != "" {
			return own.Load()
		}
		return "log-only"
	}}, nil, flags.Config{Interval: 20 * time.Millisecond})
	g = f.Gate("ratelimit", "")
	comes(t, seawall.Enforce, g, from("alice"))
	own.Store("log-only")
	comes(t, seawall.LogOnly, g, from("alice"), "after an Interval")
}

func TestWhatIsStaleIsServed(t *testing.T) {
	t.Parallel()
	p, f := aim(t, rules{"seawall-ratelimit-mode": one("log-only", "enforce", "alice")}, nil, flags.Config{})
	g := f.Gate("ratelimit", "")
	comes(t, seawall.LogOnly, g, from("alice"))
	asks, goOn := make(chan string), make(chan any)
	p.UpdateFlags(rules{"seawall-ratelimit-mode": func(id string, _ openfeature.FlattenedContext) any {
		if id == "" {
			return "enforce"
		}
		asks <- id
		return <-goOn
	}}.flags(nil))
	var asked string
	require.Eventually(t, func() bool {
		g(from("alice"))
		select {
		case asked = <-asks:
			return true
		default:
			return false
		}
	}, soon, poll)
	require.Equal(t, "id-5.alice", asked)
	for range 100 {
		require.Equal(t, seawall.LogOnly, g(from("alice")))
	}
	goOn <- "enforce"
	comes(t, seawall.Enforce, g, from("alice"))
	idle(t, p, f)
	select {
	case id := <-asks:
		t.Fatalf("%s was asked for again", id)
	default:
	}
}

func TestTheLastGoodModesOfACaller(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bad  func() any
		want string
	}{
		"errors":     {func() any { return errors.New("backend away") }, "backend away"},
		"panics":     {func() any { panic("backend away") }, "the provider panicked: backend away"},
		"misspelt":   {func() any { return "enforcee" }, `"enforcee" is not a mode`},
		"wrong type": {func() any { return true }, "not a string"},
		"nothing":    {func() any { return nil }, "not a string"},
	} {
		log := &logbook{}
		var bad atomic.Bool
		var rounds atomic.Int64
		_, f := aim(t, rules{
			"seawall-ratelimit-mode": func(id string, _ openfeature.FlattenedContext) any {
				switch {
				case id == "":
					rounds.Add(1)
					return "enforce"
				case bad.Load() && id != "id-4.good":
					return c.bad()
				}
				return "log-only"
			},
			"seawall-ratelimit-enabled": one(true, true),
		}, nil, flags.Config{Interval: 20 * time.Millisecond, Logger: slog.New(log)})
		g := f.Gate("ratelimit", "")
		comes(t, seawall.LogOnly, g, from("alice"), name)
		require.NoError(t, f.Err(), name)

		bad.Store(true)
		crowd := func() bool {
			g(from("good"))
			for i := range 20 {
				require.Equal(t, seawall.Enforce, g(from(fmt.Sprint("new", i))), "a new caller has the untargeted mode: %s", name)
			}
			require.Equal(t, seawall.LogOnly, g(from("alice")), name)
			return f.Errors() > 200
		}
		require.Eventually(t, crowd, soon, poll, name)
		var wrong error // kept, since a problem is over when it concerns nobody for a while
		require.Eventually(t, func() bool { crowd(); wrong = f.Err(); return wrong != nil }, soon, poll, name)
		require.ErrorContains(t, wrong, `flag "seawall-ratelimit-mode" for caller "id-`, name)
		require.ErrorContains(t, wrong, c.want, name)
		require.Equal(t, 1, strings.Count(wrong.Error(), "\n")+1, "one problem per flag, not per caller: %v", wrong)
		require.Equal(t, 1, log.count(""), "logged once: %s: %v", name, log.lines)

		bad.Store(false)
		before := rounds.Load()
		require.Eventually(t, func() bool { g(from("alice")); return f.Err() == nil }, soon, poll, name)
		require.Less(t, rounds.Load()-before, int64(60), "it is over soon: %s", name)
		comes(t, seawall.LogOnly, g, from("new1"), name)
	}
}

func TestAProblemOfCallersIsOverAfterAChangeThatHelps(t *testing.T) {
	t.Parallel()
	log := &logbook{}
	p, f := aim(t, rules{"seawall-ratelimit-mode": func(id string, _ openfeature.FlattenedContext) any {
		if id == "id-5.alice" {
			return "enforcee"
		}
		return "enforce"
	}}, nil, flags.Config{Logger: slog.New(log)})
	g := f.Gate("ratelimit", "")
	g(from("alice"))
	require.Eventually(t, func() bool { return f.Err() != nil }, soon, poll)
	g(from("bob"))
	idle(t, p, f)
	require.Error(t, f.Err(), "that bob has no problem says nothing of alice")
	p.UpdateFlags(rules{"seawall-ratelimit-mode": one("log-only", "enforce", "alice")}.flags(nil))
	comes(t, seawall.LogOnly, g, from("alice"))
	require.NoError(t, f.Err())
	require.Equal(t, 1, log.count(""))

	p.UpdateFlags(rules{"seawall-ratelimit-mode": one("enforcee", "enforce", "alice")}.flags(nil))
	require.Eventually(t, func() bool { g(from("alice")); return f.Err() != nil }, soon, poll)
	p.UpdateFlags(nil)
	require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll, "a flag that is gone has no problem")
}

func TestAProviderThatHangsOverACaller(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	var hanging atomic.Int64
	p, f := aim(t, rules{"seawall-ratelimit-mode": func(id string, _ openfeature.FlattenedContext) any {
		if id != "" {
			hanging.Add(1)
			<-released
			return "enforce"
		}
		return "log-only"
	}}, nil, flags.Config{Interval: 5 * time.Millisecond, Timeout: 50 * time.Millisecond})
	g := f.Gate("ratelimit", "")
	before := runtime.NumGoroutine()
	g(from("alice"))
	require.Eventually(t, func() bool { return hanging.Load() == 1 }, soon, poll)
	begun := time.Now()
	for i := range 10_000 {
		require.Equal(t, seawall.LogOnly, g(from(fmt.Sprint(i))))
	}
	require.Less(t, time.Since(begun), 5*time.Second, "no request waits")
	require.Less(t, runtime.NumGoroutine(), before+100, "other tests have some, but not thousands")
	require.LessOrEqual(t, f.Waiting(), flags.MaxArrivals)
	require.Greater(t, f.Waiting(), flags.MaxArrivals*9/10)
	require.Eventually(t, func() bool { return f.Err() != nil }, soon, poll)
	require.ErrorContains(t, f.Err(), "has not answered within 50ms")
	require.EqualValues(t, 1, hanging.Load(), "one call hangs")
	require.EqualValues(t, 1, p.now.Load())
	close(released)
	comes(t, seawall.Enforce, g, from("alice"), "a late answer counts")
	require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll)
	comes(t, seawall.Enforce, g, from("1"))
}

// TestWhatConcernsEveryoneComesFirst has a crowd wait while one caller's evaluation hangs, and then a change.
func TestWhatConcernsEveryoneComesFirst(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan string, 10_000), make(chan struct{})
	p := newMoody(nil)
	p.UpdateFlags(rules{"seawall-ratelimit-mode": func(id string, _ openfeature.FlattenedContext) any {
		asked <- id
		if id == "id-5.alice" {
			<-goOn
		}
		return "enforce"
	}}.flags(nil))
	for range 8 { // whether a crowd comes first is a matter of luck
		client := &handlers{Client: newAPI(t, deafTo(p)).NewClient()}
		f := start(t, flags.Config{Client: client, Interval: time.Hour, Targeting: &flags.Targeting{CallerID: idOf}})
		g := f.Gate("ratelimit", "")
		idle(t, p, f)
		for len(asked) > 0 {
			<-asked
		}
		g(from("alice"))
		require.Equal(t, "id-5.alice", <-asked)
		for i := range 500 {
			g(from(fmt.Sprint(i)))
		}
		require.Greater(t, f.Waiting(), 400)
		for _, cb := range client.added {
			(*cb)(openfeature.EventDetails{})
		}
		goOn <- struct{}{}
		require.Empty(t, <-asked, "everyone comes before the next caller")
		require.NoError(t, f.Close())
	}
}

// deafTo hides a provider's events.
func deafTo(p openfeature.FeatureProvider) openfeature.FeatureProvider {
	return struct{ openfeature.FeatureProvider }{p}
}

func TestACallerWaitsOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	times := map[string]int{}
	started, goOn := make(chan struct{}), make(chan struct{})
	p, f := aim(t, rules{"seawall-ratelimit-mode": func(id string, _ openfeature.FlattenedContext) any {
		mu.Lock()
		times[id]++
		mu.Unlock()
		if id == "id-5.first" {
			close(started)
			<-goOn
		}
		return "log-only"
	}}, nil, flags.Config{})
	g := f.Gate("ratelimit", "")
	g(from("first"))
	<-started
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				g(from("bob"))
				g(from("first"))
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, f.Waiting())
	close(goOn)
	idle(t, p, f)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 1, times["id-3.bob"])
	require.Equal(t, 1, times["id-5.first"])
}

func TestAFloodOfCallersIsBounded(t *testing.T) {
	const (
		many = 200_000
		most = 1000
	)
	var asked atomic.Int64
	p, f := aim(t, rules{"seawall-ratelimit-mode": func(id string, _ openfeature.FlattenedContext) any {
		if id != "" {
			asked.Add(1)
		}
		return "log-only"
	}}, nil, flags.Config{Targeting: &flags.Targeting{CallerID: idOf, MaxCallers: most}})
	g := f.Gate("ratelimit", "")
	before := runtime.NumGoroutine()
	r := &seawall.Request{}
	for i := range many {
		r.Key = seawall.NewKey("flood", fmt.Sprint(i))
		g(r)
		if i%20_000 == 0 {
			require.LessOrEqual(t, f.Remembered(), most+flags.MaxArrivals, "and those who waited, and come while it is counted")
		}
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before+1)
	idle(t, p, f)
	require.Greater(t, asked.Load(), int64(2*most), "the flood was more than is kept")
	require.LessOrEqual(t, f.Remembered(), most)
	require.Greater(t, f.Remembered(), most/2)
	require.EqualValues(t, 1, p.most.Load())
}

func TestCallersWhileEverythingChanges(t *testing.T) {
	t.Parallel()
	p, f := aim(t, rules{"seawall-ratelimit-mode": one("enforce", "log-only", "1")}, nil,
		flags.Config{Interval: time.Millisecond, Targeting: &flags.Targeting{CallerID: idOf, MaxCallers: 10}})
	g := f.Gate("ratelimit", "")
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 2000 {
				g(from(fmt.Sprint(i % 30)))
				f.Gate("ratelimit", fmt.Sprint("p", n*10+i%10))(from("1"))
			}
		})
	}
	all.Go(func() {
		for i := range 200 {
			aimed := rules{"seawall-ratelimit-mode": one("enforce", "log-only", fmt.Sprint(i%30))}
			p.UpdateFlags(aimed.flags(values{"seawall-enabled": i%2 == 0}))
			_, _ = f.Err(), f.Unread()
		}
	})
	all.Wait()
	p.UpdateFlags(rules{"seawall-ratelimit-mode": one("enforce", "log-only", "1")}.flags(nil))
	comes(t, seawall.Enforce, g, from("1"))
	comes(t, seawall.LogOnly, g, from("2"))
	require.NoError(t, f.Err())
}

func TestCloseLeavesCallersTheirModes(t *testing.T) {
	t.Parallel()
	p, f := aim(t, rules{"seawall-ratelimit-mode": one("log-only", "enforce", "alice")}, nil,
		flags.Config{Interval: 10 * time.Millisecond})
	g := f.Gate("ratelimit", "")
	comes(t, seawall.LogOnly, g, from("alice"))
	require.NoError(t, f.Close())
	asked, waiting := p.asked.Load(), f.Waiting()
	for range 10 {
		require.Equal(t, seawall.LogOnly, g(from("alice")))
		require.Equal(t, seawall.Enforce, g(from("bob")))
	}
	require.Equal(t, asked, p.asked.Load())
	require.Equal(t, waiting, f.Waiting(), "nobody waits for what will not come")
}

// BenchmarkMemoryOfCallers fills the memory of callers: bytes per caller whose key is as long as can be.
func BenchmarkMemoryOfCallers(b *testing.B) {
	aimed := rules{"seawall-enabled": one(true, true)}
	for _, layer := range layers {
		aimed["seawall-"+layer+"-policy-mode"] = one("enforce", "log-only")
	}
	for b.Loop() {
		p, f := aim(b, aimed, nil, flags.Config{})
		_, gates := ofFourLayers(f)
		used := func() uint64 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := used()
		name := strings.Repeat("x", 35)
		for i := 0; f.Remembered() < flags.DefaultMaxCallers*99/100; i++ {
			for j := range 500 {
				gates[0](from(fmt.Sprintf("%s-%05d", name, (i*500+j)%70_000)))
			}
			for f.Waiting() > 0 {
				runtime.Gosched()
			}
		}
		idle(b, p, f)
		b.ReportMetric(float64(used()-before)/float64(f.Remembered()), "B/caller")
	}
}
