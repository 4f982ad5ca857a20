package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// TestUndoneIsCertain has calls fail, and looks at what they have done.
func TestUndoneIsCertain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	s, err := redisstore.NewTuned(redisstore.Config{Client: connect(t, server), Namespace: "test"}, time.Hour, time.Minute)
	require.NoError(t, err)
	closeAtEnd(t, s)
	require.Eventually(t, func() bool { return s.Fleet().Announced }, soon, tick, "no heartbeat sees what is taken away for a moment")
	both := func() []seawall.Check {
		return []seawall.Check{bucket(t, "a", ratelimit.PerDay(1), 10), of(t, "b", ratelimit.SlidingLog(10, day), 1)}
	}
	apply(t, s, both()...)

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Apply(gone, nil, both())
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, seawall.Undone(err), "it was never sent")
	assert.EqualValues(t, 8, apply(t, s, both()...)[0].Remaining)

	require.NoError(t, admin.ACLSetUser(t.Context(), "default", "-zadd").Err())
	_, err = s.Apply(short(t, soon), nil, both())
	require.Equal(t, "auth", reasonOf(err))
	assert.False(t, seawall.Undone(err), "the script got half-way")
	require.NoError(t, admin.ACLSetUser(t.Context(), "default", "+@all").Err())
	assert.EqualValues(t, 6, apply(t, s, both()...)[0].Remaining, "and had spent from the bucket")

	require.NoError(t, s.Close(short(t, soon)))
	_, err = s.Apply(t.Context(), nil, both())
	assert.True(t, seawall.Undone(err), "%v", err)
	assert.False(t, seawall.Undone(context.DeadlineExceeded))
}
