//go:build unix

package proof

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/redistest"
)

// TestCapsHoldAcrossProcesses has four processes with ten instances take slots of some callers on one Redis, and hold
// them for random times, and a witness in memory that they share count what is in use. In the end all is free.
func TestCapsHoldAcrossProcesses(t *testing.T) {
	server := redistest.Start(t)
	witness, path := newWitness(t)
	var workers []*worker
	for range processes {
		workers = append(workers, hire(t, workerEnv+"="+server.URL(), witnessEnv+"="+path))
	}
	for i, w := range workers {
		w.tell(t, fmt.Sprint([]int{3, 3, 2, 2}[i]))
	}
	lasts := 5 * time.Second
	if long() {
		lasts = time.Minute
	}
	time.Sleep(lasts) // how long it lasts, not an assertion
	for _, w := range workers {
		w.tell(t, "stop")
	}
	var sum heldTally
	for _, w := range workers {
		var got heldTally
		w.hear(t, &got)
		require.Empty(t, got.Error)
		sum.Granted, sum.Refused, sum.Unanswered = sum.Granted+got.Granted, sum.Refused+got.Refused, sum.Unanswered+got.Unanswered
		sum.Long, sum.Lapsed = sum.Long+got.Long, sum.Lapsed+got.Lapsed
	}
	full := 0
	for i := range witness.callers {
		c := &witness.callers[i]
		require.Zero(t, c.now.Load(), "caller %d: the witness itself counts on", i)
		if c.most.Load() == loadCap(i) {
			full++
		}
		if sum.Lapsed == 0 {
			require.Zero(t, c.over.Load(), "caller %d: up to %d in use, the cap is %d", i, c.most.Load(), loadCap(i))
		}
	}
	t.Logf("%d granted, %d of them held for longer than a third of their TTL, %d refused, %d not answered; %d of %d caps were full; %d lapsed",
		sum.Granted, sum.Long, sum.Refused, sum.Unanswered, full, loadCallers, sum.Lapsed)
	if sum.Lapsed > 0 {
		t.Log("this machine stood still for longer than leases last, so whether caps were kept is not known")
	}
	require.Positive(t, sum.Refused)
	require.Positive(t, sum.Long)
	require.Positive(t, full, "no cap was ever reached")
	allFree(t, server)
}

// allFree shows that every set is empty and that every caller gets all of its slots.
func allFree(t *testing.T, server *redistest.Server) {
	client := server.Client(t)
	require.Eventually(t, func() bool {
		keys, err := client.Keys(context.Background(), "*:"+concurrency.Name+":*").Result()
		return err == nil && len(keys) == 0
	}, loadTTL/2, 5*time.Millisecond, "something is left, for longer than a release takes and shorter than a lease lasts")
	store := newInstance(t, server.URL())
	for caller := range loadCallers {
		for range loadCap(caller) {
			c, err := loadCheck(caller, 1)
			require.NoError(t, err)
			results, err := store.Apply(t.Context(), nil, []seawall.Check{c})
			require.NoError(t, err)
			require.True(t, results[0].Committed, "caller %d is refused", caller)
		}
	}
}
