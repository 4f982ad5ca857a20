package faults

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// exampleTTL is the TTL of leases in the payments example.
const exampleTTL = 12 * time.Second

// processes are the faults of an instance, played with processes of the payments example.
func processes() []fault {
	return []fault{
		{
			number: 11, name: "Absent at boot", injection: "nothing listens where the payments example looks for Redis",
			promise: "boots within 1 s and serves; uses Redis once it appears", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				server.Kill()
				_, err := buildPayments()
				require.NoError(t, err)
				began := time.Now()
				p := startPayments(t, server)
				assert.Equal(t, http.StatusOK, p.get("a", "/v1/charges"))
				r.within(t, "first answer after", time.Since(began), time.Second)
				assert.Equal(t, http.StatusServiceUnavailable, p.login("a"))
				p.healthy(t)
				server.Restart(t)
				c := admin(t, server)
				back := until(func() bool {
					p.get("a", "/v1/charges")
					return len(c.Keys(context.Background(), "payments:*:ratelimit:api").Val()) > 0
				})
				r.within(t, "Redis used after", back, 2*time.Second)
			},
		},
		{
			number: 51, name: "An instance dies", injection: "`kill -9` of an instance with 100 requests in flight",
			promise: "leases left a second after the TTL: 0; the cap is never exceeded", run: dies,
		},
		{
			number: 52, name: "An instance freezes", injection: "`kill -STOP` of an instance with 20 requests in flight, `-CONT` after the TTL",
			promise: "the others may use its slots meanwhile; afterwards all are counted again; leases left 0", run: freezes,
		},
		{
			number: 53, name: "An instance is stopped", injection: "SIGTERM with 20 requests in flight",
			promise: "all are answered; leases left 0; exit code 0", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				p := startPayments(t, server)
				p.healthy(t)
				answered := p.occupy(20, 700)
				c := admin(t, server)
				require.Eventually(t, func() bool { return leasesOf(t, c, "payments") == 40 }, soon, 5*time.Millisecond, "each holds two")
				p.Signal(syscall.SIGTERM)
				n := answered()
				<-p.Exited()
				r.left = leasesOf(t, c, "payments")
				r.note("%d of 20 answered, leases left %d, exit code %d", n, r.left, p.Code())
				assert.Equal(t, 20, n)
				assert.Zero(t, r.left)
				assert.Zero(t, p.Code())
				assert.Zero(t, c.HLen(t.Context(), "payments:{fleet}:members").Val())
			},
		},
	}
}

// occupy sends n requests of one caller that each work so many milliseconds. The function it returns waits for
// them, and says how many were answered with 200.
func (p *payments) occupy(n, ms int) (answered func() int) {
	var all sync.WaitGroup
	codes := make([]int, n)
	for k := range n {
		all.Go(func() { codes[k] = p.get("busy", "/v1/charges?ms="+strconv.Itoa(ms)) })
	}
	return func() (ok int) {
		all.Wait()
		for _, code := range codes {
			if code == http.StatusOK {
				ok++
			}
		}
		return ok
	}
}

func dies(t *testing.T, r *row) {
	server := redistest.Start(t)
	args := []string{"-rate", "100000", "-burst", "100000", "-max-in-flight", "100", "-workers", "1000"}
	a, b := startPayments(t, server, args...), startPayments(t, server, args...)
	a.healthy(t)
	b.healthy(t)
	a.occupy(100, 60_000)
	c := admin(t, server)
	require.Eventually(t, func() bool { return leasesOf(t, c, "payments") == 200 }, soon, 5*time.Millisecond, "each holds two")
	assert.Equal(t, http.StatusTooManyRequests, b.get("busy", "/v1/charges"))
	a.Kill()
	began := time.Now()
	for leasesOf(t, c, "payments") > 0 && time.Since(began) < 2*exampleTTL {
		time.Sleep(10 * time.Millisecond)
	}
	r.within(t, "its leases are gone after", time.Since(began), exampleTTL+time.Second)
	r.left = leasesOf(t, c, "payments")
	r.note("leases left %d", r.left)
	assert.Zero(t, r.left)
	assert.Equal(t, http.StatusOK, b.get("busy", "/v1/charges"))
}

func freezes(t *testing.T, r *row) {
	server := redistest.Start(t)
	args := []string{"-rate", "100000", "-burst", "100000", "-max-in-flight", "20", "-workers", "1000"}
	a, b := startPayments(t, server, args...), startPayments(t, server, args...)
	a.healthy(t)
	b.healthy(t)
	// It works on for longer than the freeze lasts.
	ofA := a.occupy(20, int((exampleTTL+12*time.Second)/time.Millisecond))
	c := admin(t, server)
	require.Eventually(t, func() bool { return leasesOf(t, c, "payments") == 40 }, soon, 5*time.Millisecond, "each holds two")
	a.Signal(syscall.SIGSTOP)
	assert.Equal(t, http.StatusTooManyRequests, b.get("busy", "/v1/charges"), "its leases still count")
	time.Sleep(exampleTTL + time.Second)
	ofB := b.occupy(20, 9000)
	require.Eventually(t, func() bool { return leasesOf(t, c, "payments") == 40 }, soon, 5*time.Millisecond, "the other has the slots")
	a.Signal(syscall.SIGCONT)
	began := time.Now()
	require.Eventually(t, func() bool { return leasesOf(t, c, "payments") == 80 }, soon, 5*time.Millisecond, "all are counted")
	r.within(t, "20 slots used by both; counted after", time.Since(began), time.Second)
	assert.Equal(t, http.StatusTooManyRequests, b.get("busy", "/v1/charges"))
	assert.Equal(t, 20, ofA())
	assert.Equal(t, 20, ofB())
	require.Eventually(t, func() bool { return leasesOf(t, c, "payments") == 0 }, exampleTTL+time.Second, 5*time.Millisecond, "leases left")
	r.note("leases left 0")
}
