package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// TestAWrongClockIsPutRight has an instance whose idea of Redis' clock is wrong: a script that needs it turns it
// down, and nothing is spent twice or lost.
func TestAWrongClockIsPutRight(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	began := time.Now().Add(-12 * time.Hour).Truncate(time.Second) // no window ends while the test runs
	window, err := ratelimit.FixedWindow(100, ratelimit.Every(24*time.Hour).From(began)).Rule()
	require.NoError(t, err)
	day, err := seawall.NewLimit(ratelimit.Name, "day", seawall.FailLocal)
	require.NoError(t, err)
	checks := func() []seawall.Check {
		other := bucket(t, "a", ratelimit.PerDay(1), 100)
		return []seawall.Check{other, {Limit: day, Rule: window, Key: seawall.NewKey("a"), Cost: 1}}
	}
	for i, wrong := range []time.Duration{
		0, time.Hour, -time.Hour, 40 * time.Hour, 72 * time.Hour, -72 * time.Hour, 20 * 365 * 24 * time.Hour, -20 * 365 * 24 * time.Hour,
	} {
		s.SetClockOffset(wrong)
		results := apply(t, s, checks()...)
		for _, r := range results {
			require.True(t, r.Committed)
			require.Equal(t, int64(99-i), r.Remaining, "wrong by %v", wrong)
		}
		if wrong.Abs() > 48*time.Hour {
			assert.Less(t, s.ClockOffset().Abs(), time.Minute, "it has learnt")
		}
	}
}

// TestAMissedClockMendsNothing has state of a later window, which a refusal would mend, met by a wrong guess.
func TestAMissedClockMendsNothing(t *testing.T) {
	t.Parallel()
	subject := opener(redistest.Start(t), nil)(t)
	s := subject.Store.(*redisstore.Store)
	c := of(t, "a", ratelimit.FixedWindow(1, ratelimit.Every(time.Minute)), 1)
	require.True(t, apply(t, s, c)[0].Committed)
	subject.Advance(-time.Hour)
	for _, wrong := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		s.SetClockOffset(wrong)
		res := apply(t, s, c)[0]
		require.False(t, res.Admitted)
		require.LessOrEqual(t, res.RetryAfter, time.Minute)
	}
}
