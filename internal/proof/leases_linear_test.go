package proof

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/memstore"
)

func TestLeasesInMemoryAreLinearizable(t *testing.T) {
	store := memstore.New(memstore.Config{Now: time.Now})
	var names callers
	first, granted, refused := seeds(), 0, 0
	for i := range often(60) {
		seed := first + uint64(i)
		h := newLeaseHistory(t, names.next(), store)
		h.run(seed, 8, 20, endless)
		h.mustBeLinearizable(t, seed)
		h.mustBeFree(t, seed)
		granted, refused = granted+h.seen.granted, refused+h.seen.refused
	}
	t.Logf("%d histories: %d leases were granted, %d requests refused", often(60), granted, refused)
}

// TestLeasesOnRedisAreLinearizable has clients of two instances, who lose patience with some calls, and a Redis that
// is stopped for a moment. Who is not answered may hold what it asked for, beyond the cap, until it gives it back;
// in the end nothing is taken.
func TestLeasesOnRedisAreLinearizable(t *testing.T) {
	server := redistest.Start(t)
	stores := []seawall.Store{newInstance(t, server.URL()), newInstance(t, server.URL())}
	client := server.Client(t)
	var names callers
	first, granted, refused, unanswered, doubtful := seeds(), 0, 0, 0, 0
	for i := range often(25) {
		seed := first + uint64(i)
		h := newLeaseHistory(t, names.next(), stores...)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			time.Sleep(3 * time.Millisecond) // some are under way when it stops
			server.Stop()
			server.Cont()
		}()
		h.run(seed, 5, 12, tired)
		<-stopped
		h.mustBeLinearizable(t, seed)
		for _, c := range h.checks {
			require.Eventually(t, func() bool {
				n, err := client.Exists(context.Background(), keyOn(c)).Result()
				return err == nil && n == 0
			}, time.Minute, time.Millisecond, "seed %d: %s is left\n%s", seed, keyOn(c), h)
		}
		h.mustBeFree(t, seed)
		granted, refused, unanswered = granted+h.seen.granted, refused+h.seen.refused, unanswered+h.seen.unanswered
		if h.doubtful {
			doubtful++
		}
	}
	t.Logf("%d histories: %d leases were granted, %d requests refused, %d not answered; %d are explained only by what was done for those who did not wait",
		often(25), granted, refused, unanswered, doubtful)
	require.Positive(t, unanswered, "nobody lost patience")
}

// tired is as impatient as others and, now and then, waits for about as long as it takes to be refused, and to be asked
// for once more.
func tired(rnd *rand.Rand) (context.Context, context.CancelFunc) {
	if rnd.IntN(12) > 0 {
		return impatient(rnd)
	}
	return context.WithTimeout(context.Background(), time.Duration(1500+rnd.IntN(1000))*time.Microsecond)
}

// mustBeFree fails unless all slots are free.
func (h *leaseHistory) mustBeFree(t *testing.T, seed uint64) {
	t.Helper()
	for i, c := range caps {
		check := h.check(wish{cap: i, op: seawall.Peek, cost: 1})
		results, err := h.stores[0].Apply(t.Context(), nil, []seawall.Check{check})
		require.NoError(t, err)
		require.Equal(t, c.slots, results[0].Remaining, "seed %d: %s\n%s", seed, c.name, h)
	}
}
