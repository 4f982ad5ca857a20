package workershed

import (
	"time"

	"github.com/seawall-go/seawall"
)

// sheddable is how many tiers can be shed, from the bottom.
const sheddable = float64(seawall.Critical - seawall.TestMode)

// share returns the share of tier t that is shed at a level: each tier begins when the one below is gone,
// and critical is never shed. Tiers beyond the known ones count as the nearest.
func share(level float64, t seawall.Tier) float64 {
	if t >= seawall.Critical {
		return 0
	}
	below := float64(max(t, seawall.TestMode) - seawall.TestMode)
	return clamp(sheddable*level - below)
}

// The bounds of what a refused caller is told to wait.
const (
	minRetry = time.Second
	maxRetry = 10 * time.Second
)

// retryAfter grows with the level, since the level takes the longer to fall the higher it is.
func retryAfter(level float64) time.Duration {
	return minRetry + time.Duration(clamp(level)*float64(maxRetry-minRetry))
}
