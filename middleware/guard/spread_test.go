package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
)

// TestWaitsForCapacityAreSpread: those that are refused together must not come back together; who is over a limit of its own
// is told when it may.
func TestWaitsForCapacityAreSpread(t *testing.T) {
	for wait := time.Second; wait <= 10*time.Second; wait += 500 * time.Millisecond {
		whole := int64((wait + time.Second - 1) / time.Second)
		told := map[int64]int{}
		for range 4000 {
			s := seconds(seawall.Decision{Denied: true, Cause: seawall.CauseCapacity, RetryAfter: wait})
			assert.True(t, s >= whole && s <= 2*whole, "%v: %d", wait, s)
			told[s]++
		}
		assert.Len(t, told, int(whole)+1, "every second from %d to %d", whole, 2*whole)
		for s, n := range told {
			assert.InDelta(t, 4000/(whole+1), n, 0.3*4000, "%v: %d s", wait, s)
		}
		assert.Equal(t, whole, seconds(seawall.Decision{Denied: true, Cause: seawall.CauseQuota, RetryAfter: wait}))
	}
}
