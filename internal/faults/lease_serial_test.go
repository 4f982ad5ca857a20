package faults

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

// aftermath is how long after a wait that ran out a refusal may be owed to it: a call that nobody waits for may still
// take a lease within a tenth of a second, and that is then given back.
const aftermath = 150 * time.Millisecond

// serial is what became of requests of one caller who has one slot and asks again as soon as it is answered.
type serial struct {
	asked, refused      int
	unexplained         int // refusals with no wait that ran out shortly before
	fallbacks, unwaited int // waits that ran out: of decisions, and of releases
	first               []string
	took                time.Duration
	last                func() // is called before the last look, if not nil
}

// run asks n times. ask tells whether request i was refused, ranOut how many waits have run out so far: it is asked
// after every refusal and every few requests.
func (s *serial) run(n, every int, ask func(i int) (refused bool), ranOut func() (fallbacks, releases int)) {
	began := time.Now()
	f0, r0 := ranOut()
	var last time.Time // that a wait was seen to have run out
	look := func() (more int) {
		f, r := ranOut()
		more = f - f0 + r - r0 - s.fallbacks - s.unwaited
		s.fallbacks, s.unwaited = f-f0, r-r0
		if more > 0 {
			last = time.Now()
		}
		return more
	}
	for i := range n {
		s.asked++
		refused := ask(i)
		if refused || i%every == 0 {
			look()
		}
		if !refused {
			continue
		}
		s.refused++
		if last.IsZero() || time.Since(last) > aftermath {
			s.unexplained++
			s.first = append(s.first[:min(len(s.first), 9)], fmt.Sprintf("request %d", i))
		}
	}
	s.took = time.Since(began)
	if s.last != nil {
		s.last()
	}
	s.unexplained = max(0, s.unexplained-look()) // what is told late may explain as many
}

func (s *serial) judge(t *testing.T) {
	t.Helper()
	t.Logf("%d requests in %s (%s each): %d refused; waits that ran out: %d decisions, %d releases; refusals without: %d %v",
		s.asked, text(s.took), text(s.took/time.Duration(s.asked)), s.refused, s.fallbacks, s.unwaited, s.unexplained, s.first)
	assert.Zero(t, s.unexplained, "refusals of a caller that has nothing in flight")
}

// TestOneSlotIsEnoughForOneAtATime alternates between two stacks that have nothing but the cap.
func TestOneSlotIsEnoughForOneAtATime(t *testing.T) {
	together(t)
	server := redistest.Start(t)
	var stacks [instances]*seawall.Stack
	var seen [instances]*observed
	for k := range stacks {
		client, err := redisstore.NewClient(server.URL())
		require.NoError(t, err)
		shared, err := redisstore.New(redisstore.Config{Client: client, Namespace: "faults"})
		require.NoError(t, err)
		inFlight, err := concurrency.New(concurrency.Config{MaxInFlight: 1})
		require.NoError(t, err)
		seen[k] = newObserved()
		stacks[k], err = seawall.New(seawall.Config{Store: shared, Observer: seen[k]}, inFlight)
		require.NoError(t, err)
		t.Cleanup(func() {
			assert.NoError(t, stacks[k].Close(context.Background()))
			_ = client.Close()
		})
	}
	s := serialOn(t, server, func(i int) *seawall.Stack { return stacks[i%instances] }, seen[:], of(10_000, 100_000))
	s.judge(t)
}

// TestOneSlotIsEnoughBehindAFailover is the same with all that an instance has between HTTP and Redis.
func TestOneSlotIsEnoughBehindAFailover(t *testing.T) {
	together(t)
	server := redistest.Start(t)
	g := newRig(t, setup{url: server.URL(), slots: 1, ttl: concurrency.DefaultTTL})
	g.ready(t)
	var seen []*observed
	for _, in := range g.instances {
		seen = append(seen, in.seen)
	}
	s := serialOn(t, server, func(i int) *seawall.Stack { return g.instances[i%instances].stack }, seen, of(5_000, 100_000))
	s.judge(t)
}

func serialOn(t *testing.T, server *redistest.Server, stack func(i int) *seawall.Stack, seen []*observed, n int) *serial {
	t.Helper()
	ask := func(i int) bool {
		a := stack(i).Admit(context.Background(), request("serial"))
		defer a.Done(context.Background())
		return a.Decision().Denied
	}
	for i := range 100 { // warm
		ask(i)
	}
	c := admin(t, server)
	require.Less(t, until(func() bool { return leases(t, c) == 0 }), soon, "what warming up has left over, if waits ran out")
	ranOut := func() (fallbacks, releases int) {
		for _, o := range seen {
			f, r := o.ranOut()
			fallbacks, releases = fallbacks+f, releases+r
		}
		return fallbacks, releases
	}
	f, r := ranOut()
	s := &serial{}
	s.run(n, 1, ask, ranOut)
	t.Logf("before: %d decisions, %d releases ran out", f, r)
	assert.Less(t, until(func() bool { return leases(t, c) == 0 }), soon, "nothing is left")
	return s
}

// TestOneSlotIsEnoughOverHTTP alternates between two processes of the payments example, over one connection each.
func TestOneSlotIsEnoughOverHTTP(t *testing.T) {
	together(t)
	server := redistest.Start(t)
	args := []string{"-rate", "1000000", "-burst", "1000000000", "-workers", "1000", "-max-in-flight", "1"}
	two := []*payments{startPayments(t, server, args...), startPayments(t, server, args...)}
	c := admin(t, server)
	for _, p := range two {
		p.healthy(t)
	}
	ask := func(i int) bool {
		code := two[i%len(two)].get("serial", "/v1/reports")
		if code != http.StatusOK && code != http.StatusTooManyRequests {
			assert.Equal(t, http.StatusOK, code)
		}
		return code != http.StatusOK
	}
	for i := range 200 {
		ask(i)
	}
	require.Less(t, until(func() bool { return leasesOf(t, c, "payments") == 0 }), soon, "what warming up has left over, if waits ran out")
	ranOut := func() (fallbacks, releases int) {
		for _, p := range two {
			f := int(p.metric(t, "seawall_fallback_total", `layer="concurrency"`))
			fallbacks += f
			// Releases that were not confirmed in time are in the log alone, with decisions that fell back.
			releases += max(0, p.warnings()-f)
		}
		return fallbacks, releases
	}
	s := &serial{last: func() { settleWarnings(t, server, two) }}
	s.run(of(5_000, 100_000), 200, ask, ranOut)
	s.fallbacks -= len(two) // those of settleWarnings
	s.judge(t)
	var lapsed float64
	for _, p := range two {
		lapsed += p.metric(t, "seawall_leases_lapsed_total")
	}
	t.Logf("seawall_leases_lapsed_total: %v", lapsed)
	assert.Less(t, until(func() bool { return leasesOf(t, c, "payments") == 0 }), soon, "nothing is left")
}

// settleWarnings has the processes write what they kept back: each has to decide once without Redis, which it logs.
func settleWarnings(t *testing.T, server *redistest.Server, all []*payments) {
	t.Helper()
	time.Sleep(1100 * time.Millisecond) // since the last line
	server.Stop()
	defer server.Cont()
	for _, p := range all {
		before := len(warning.FindAllString(p.log.String(), -1))
		assert.NotZero(t, p.get("late", "/v1/reports"))
		assert.Less(t, until(func() bool { return len(warning.FindAllString(p.log.String(), -1)) > before }), soon, "it says so")
	}
}

// warning is a line of the log about a wait that ran out, of which only one a second is written.
var warning = regexp.MustCompile(`seawall: (?:release failed|decided without the store).*kept_back=(\d+)`)

// warnings counts the waits that ran out as far as the process has told.
func (p *payments) warnings() (n int) {
	for _, line := range warning.FindAllStringSubmatch(p.log.String(), -1) {
		kept, _ := strconv.Atoi(line[1])
		n += 1 + kept
	}
	return n
}
