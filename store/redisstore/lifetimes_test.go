package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// of returns a check on a quota of caller.
func of(t *testing.T, caller string, q ratelimit.Quota, cost int64) seawall.Check {
	t.Helper()
	rule, err := q.Rule()
	require.NoError(t, err)
	return seawall.Check{Limit: limit(t, ratelimit.Name, "api"), Rule: rule, Key: seawall.NewKey(caller), Cost: cost}
}

// TestKeysLiveUntilTheyDoNotMatter is I5 by Redis' own clock.
func TestKeysLiveUntilTheyDoNotMatter(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	ttl := func(caller string) time.Duration {
		t.Helper()
		d, err := c.PTTL(t.Context(), bucketKey(caller)).Result()
		require.NoError(t, err)
		return d
	}
	for name, q := range map[string]ratelimit.Quota{
		"bucket":  ratelimit.TokenBucket(ratelimit.PerMinute(7), 10),
		"log":     ratelimit.SlidingLog(10, 90*time.Second),
		"counter": ratelimit.SlidingCounter(10, 90*time.Second),
		"window":  ratelimit.FixedWindow(10, ratelimit.Every(time.Hour).From(time.Now().Add(-time.Minute).Truncate(time.Second))),
	} {
		for range 3 {
			before := time.Now()
			check := of(t, name, q, 3)
			res := apply(t, s, check)[0]
			require.True(t, res.Committed, name)
			left := ttl(name)
			assert.GreaterOrEqual(t, left+time.Since(before)+time.Millisecond, res.ResetAfter, "%s is gone before it does not matter", name)
			assert.LessOrEqual(t, left, res.ResetAfter+check.Rule.(ratelimit.Rule).Window(), "%s: more than a period too long", name)
		}
	}
}

// TestALongerWindowKeepsItsCounts makes windows longer that begin together, after everything was spent.
func TestALongerWindowKeepsItsCounts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	began := time.Now().Add(-time.Second).Truncate(time.Second)
	for name, change := range map[string][2]ratelimit.Quota{
		"counter": {ratelimit.SlidingCounter(5, 30*time.Second), ratelimit.SlidingCounter(5, 366*24*time.Hour)},
		"window":  {ratelimit.FixedWindow(5, ratelimit.Every(30*time.Second).From(began)), ratelimit.FixedWindow(5, ratelimit.Every(time.Hour).From(began))},
	} {
		require.True(t, apply(t, s, of(t, name, change[0], 5))[0].Committed, name)
		refused := apply(t, s, of(t, name, change[1], 1))[0]
		require.False(t, refused.Admitted, name)
		assert.GreaterOrEqual(t, c.PTTL(t.Context(), bucketKey(name)).Val()+time.Second, refused.RetryAfter, name)
	}
}

// TestALongerWindowKeepsItsEntries makes the window of a log longer after it was spent.
func TestALongerWindowKeepsItsEntries(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	require.True(t, apply(t, s, of(t, "a", ratelimit.SlidingLog(5, 30*time.Second), 5))[0].Committed)
	refused := apply(t, s, of(t, "a", ratelimit.SlidingLog(5, time.Hour), 1))[0]
	require.False(t, refused.Admitted)
	require.Greater(t, refused.RetryAfter, 59*time.Minute)
	assert.Greater(t, c.PTTL(t.Context(), bucketKey("a")).Val(), 59*time.Minute, "or it would be admitted in 30 s")
}

// TestALogOfManyIsQuick refuses a cost for which thousands of entries must leave.
func TestALogOfManyIsQuick(t *testing.T) {
	t.Parallel()
	const entries = 20_000
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	q := ratelimit.SlidingLog(entries, time.Hour)
	var one []seawall.Check
	for range 20 {
		one = append(one[:0], of(t, "a", q, 1))
		require.True(t, apply(t, s, one...)[0].Committed)
	}
	now := time.Now().UnixMicro()
	pipe := c.Pipeline()
	for i := range entries - 20 { // the rest at once
		pipe.Do(t.Context(), "ZADD", bucketKey("a"), now-int64(i), "1:x"+time.Duration(i).String())
	}
	pipe.Do(t.Context(), "ZADD", bucketKey("a"), -entries, "t")
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	slow := func(cost int64) (most int64) {
		require.NoError(t, c.ConfigResetStat(t.Context()).Err())
		res := apply(t, s, of(t, "a", q, cost))[0]
		require.False(t, res.Admitted)
		require.Positive(t, res.RetryAfter)
		return server.CommandCalls(t, "zrange")
	}
	assert.LessOrEqual(t, slow(1), int64(4))
	assert.LessOrEqual(t, slow(entries), int64(entries/64+4), "each entry is read once, by rank")
}
