package workershed

import (
	"time"

	"github.com/seawall-go/seawall"
)

// The tiers, of which the first ones, all but critical, can be shed.
const (
	tiers     = 4
	sheddable = tiers - 1
)

// tierOf maps tiers that are not known to the nearest.
func tierOf(t seawall.Tier) int {
	return int(min(max(t, seawall.TestMode), seawall.Critical) - seawall.TestMode)
}

// The bounds of what a refused caller is told to wait.
const (
	minRetry = time.Second
	maxRetry = 10 * time.Second
)

// retryAfter grows with the level, since the level takes the longer to fall the higher it is. Whoever answers spreads it.
func retryAfter(level float64) time.Duration {
	return minRetry + time.Duration(clamp(level)*float64(maxRetry-minRetry))
}
