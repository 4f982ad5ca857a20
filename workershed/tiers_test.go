package workershed

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
)

func TestTiersThatAreNotKnownAreTheNearest(t *testing.T) {
	for tier, want := range map[seawall.Tier]int{
		math.MinInt8: 0, seawall.TestMode: 0, seawall.Read: 1, seawall.Write: 2, seawall.Critical: 3, seawall.Critical + 1: 3, math.MaxInt8: 3,
	} {
		assert.Equal(t, want, tierOf(tier), "%d", tier)
	}
}

func TestRetryAfterGrowsWithTheLevel(t *testing.T) {
	assert.Equal(t, time.Second, retryAfter(0))
	assert.Equal(t, 5500*time.Millisecond, retryAfter(0.5))
	assert.Equal(t, 10*time.Second, retryAfter(1))
	assert.Equal(t, time.Second, retryAfter(math.NaN()))
	assert.Equal(t, 10*time.Second, retryAfter(math.Inf(1)))
}
