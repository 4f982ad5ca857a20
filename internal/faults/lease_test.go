package faults

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
)

// longLeases tells whether the tests of leases, which go further into what the faults 29, 51 and 52 of the catalogue
// touch, run one after the other and at full size.
func longLeases() bool { return os.Getenv("SEAWALL_LEASES") == "long" }

// together has a test of leases run beside others, unless it measures.
func together(t *testing.T) {
	t.Helper()
	if !longLeases() {
		t.Parallel()
	}
}

// of returns the first value in a usual run, the second in a long one.
func of[T any](short, long T) T {
	if longLeases() {
		return long
	}
	return short
}

// within logs a measured time. A long run holds it to its limit, a usual one only to what is long in any case.
func within(t *testing.T, what string, got, limit time.Duration) {
	t.Helper()
	t.Logf("%s: %s (promised: %s)", what, text(got), text(limit))
	assert.LessOrEqual(t, got, of(soon, limit), what)
}

// renewal is how long at most a lease that is due waits for its renewal: it is looked for three times a second.
const renewal = 350 * time.Millisecond

// callerNamed is the key of a caller in rigs.
func callerNamed(name string) seawall.Key { return seawall.NewKey("caller", name) }

// request is one of theirs.
func request(name string) *seawall.Request {
	return &seawall.Request{Key: callerNamed(name), Route: "/v1/reports"}
}

// slotsKey is the key on Redis of a caller's leases.
func slotsKey(name string) string {
	return "faults:{" + callerNamed(name).String() + "}:concurrency:in-flight"
}

// held says how many leases of a key have not expired by Redis' clock, and how many slots they take.
func held(t testing.TB, c *redis.Client, key string) (leases, slots int) {
	t.Helper()
	ctx := context.Background()
	now, err := c.Time(ctx).Result()
	assert.NoError(t, err)
	members, err := c.ZRangeArgs(ctx, redis.ZRangeArgs{Key: key, ByScore: true, Start: fmt.Sprintf("(%d", now.UnixMilli()), Stop: "+inf"}).Result()
	assert.NoError(t, err, key)
	for _, member := range members {
		weight := 1
		if _, text, ok := strings.Cut(member, "*"); ok {
			weight, err = strconv.Atoi(text)
			assert.NoError(t, err, member)
		}
		slots += weight
	}
	return len(members), slots
}

// expiries are when the leases of a key expire, in order. Redis and this process go by the same clock.
func expiries(t testing.TB, c *redis.Client, key string) (at []time.Time) {
	t.Helper()
	leases, err := c.ZRangeWithScores(context.Background(), key, 0, -1).Result()
	assert.NoError(t, err, key)
	for _, lease := range leases {
		at = append(at, time.UnixMilli(int64(lease.Score)))
	}
	return at
}

// spread says the middle and the greatest of some times.
func spread(times []time.Duration) (median, most time.Duration) {
	if len(times) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2], sorted[len(sorted)-1]
}
