package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

func TestWorkersExhaustTheBudgetTogether(t *testing.T) {
	t.Parallel()
	const units, rate = 10_000, 200
	api, store := newProvider(t), newRedis(t)
	began := time.Now()
	p := start(t, "-redis", store, "-api", api.url, "-workers", "3", "-rate", fmt.Sprint(rate), "-searches", "0.6")
	require.NoError(t, p.wait())
	took := time.Since(began)
	t.Logf("%v", took)
	api.charged(t, units, price(search)*p.lost(t))
	assert.Equal(t, 3, strings.Count(p.out.String(), "spent: "), "each says so")
	assert.InDelta(t, api.units.Load(), p.tally(t, "units"), float64(price(search)*p.tally(t, "unanswered")), "they know what they paid for")
	assert.LessOrEqual(t, float64(api.calls.Load()), rate/10+rate*took.Seconds(), "calls a second")

	before := api.calls.Load()
	p = start(t, "-redis", store, "-api", api.url, "-searches", "1")
	require.NoError(t, p.wait())
	assert.Equal(t, before, api.calls.Load(), "a worker that comes later finds nothing left")
}

func TestKilledWorkersLoseNoMoreThanTheCallsInFlight(t *testing.T) {
	t.Parallel()
	const units, kills = 9_000, 8
	api, store := newProvider(t), newRedis(t)
	var all, staff []*process
	hire := func() {
		p := start(t, "-redis", store, "-api", api.url, "-units", fmt.Sprint(units), "-rate", "100", "-searches", "0.6")
		all, staff = append(all, p), append(staff, p)
	}
	for range 3 {
		hire()
	}
	atWork := func(p *process) bool { return strings.Contains(p.out.String(), "spends") }
	for k := range int64(kills) {
		require.Eventually(t, func() bool { return api.units.Load() > units*(k+1)/10 && slices.ContainsFunc(staff, atWork) },
			20*time.Second, time.Millisecond)
		for {
			if i := rand.IntN(len(staff)); atWork(staff[i]) {
				require.NoError(t, staff[i].cmd.Process.Kill())
				staff = slices.Delete(staff, i, i+1)
				break
			}
		}
		hire()
	}
	afterKills := api.units.Load()
	lost := int64(kills)
	for _, p := range staff {
		require.NoError(t, p.wait())
	}
	for _, p := range all {
		lost += p.lost(t)
	}
	t.Logf("%d units were charged when the last was killed", afterKills)
	api.charged(t, units, lost*price(search))
}

func TestRedisFreezesAndDies(t *testing.T) {
	t.Parallel()
	const units = 9_000
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always") // as the README demands
	api := newProvider(t)
	p := start(t, "-redis", server.URL(), "-api", api.url, "-workers", "3", "-units", fmt.Sprint(units), "-rate", "100", "-searches", "0.6")
	reaches := func(share int64) {
		t.Helper()
		require.Eventually(t, func() bool { return api.units.Load() > units*share/100 }, 20*time.Second, 5*time.Millisecond)
	}
	reaches(20)
	server.Stop()
	time.Sleep(time.Second)
	server.Cont()
	reaches(50)
	server.Kill()
	time.Sleep(time.Second)
	server.Restart(t)
	require.NoError(t, p.wait())
	api.charged(t, units, p.lost(t)*price(search))
}

func TestCallsThatReachNobodyAreRefunded(t *testing.T) {
	t.Parallel()
	const units = 1_000 // ten searches
	args := []string{"-redis", newRedis(t), "-units", fmt.Sprint(units)}
	p := start(t, append(args, "-api", "http://"+refusing(t), "-workers", "2", "-searches", "1")...)
	require.Eventually(t, func() bool { return p.tally(t, "not reached, refunded") > 15 }, 20*time.Second, 10*time.Millisecond)
	p.terminate(t)
	assert.Zero(t, p.tally(t, "units"))
	whole, lost := left(t, args...), p.lost(t)
	t.Logf("%d calls were refunded, %d may have been lost; %d of %d units are left", p.tally(t, "not reached, refunded"), lost, whole, units)
	assert.GreaterOrEqual(t, whole, units-price(search)*lost)
	assert.LessOrEqual(t, whole, int64(units))
}

// refusing returns an address that refuses connections, and that nobody else gets: it is bound and not listened on.
func refusing(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Close(fd)) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	at, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}

// TestACallUnderWayHasAMomentToEnd ends a worker whose call takes a little longer, and one whose call hangs.
func TestACallUnderWayHasAMomentToEnd(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		want  string
	}{
		"a little longer": {200 * time.Millisecond, "1 calls, 1 units\n"},
		"hangs":           {time.Minute, "0 calls, 1 units; 1 unanswered, paid\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{}, 10)
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				arrived <- struct{}{}
				_ = sleep(r.Context(), c.takes)
			}))
			t.Cleanup(server.Close)
			p := start(t, "-api", server.URL, "-searches", "0")
			<-arrived
			p.terminate(t)
			assert.Contains(t, p.out.String(), c.want)
			assert.Empty(t, arrived)
		})
	}
}

func TestWorkersThatWaitForTomorrowEndWhenTold(t *testing.T) {
	t.Parallel()
	api := newProvider(t)
	p := start(t, "-redis", newRedis(t), "-api", api.url, "-workers", "2", "-units", "500", "-searches", "1", "-wait")
	p.says(t, `worker 1: spent: `)
	p.says(t, `worker 2: spent: `)
	time.Sleep(200 * time.Millisecond)
	p.terminate(t)
	api.charged(t, 500, p.lost(t)*price(search))
	assert.Equal(t, 2, strings.Count(p.out.String(), "spent: "), "once each, and then they wait")
}

func TestNoWorkerOutlivesItsParent(t *testing.T) {
	t.Parallel()
	p := start(t, "-redis", newRedis(t), "-workers", "2", "-wait")
	p.says(t, `worker 1: process`)
	p.says(t, `worker 2: process`)
	require.NoError(t, p.cmd.Process.Kill())
	assert.ErrorContains(t, p.wait(), "killed", "not that somebody still holds its output")
}
