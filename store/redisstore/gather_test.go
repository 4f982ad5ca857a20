package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// TestRequestsOfTwoFleetsTakeOfTheirOwn queues them together: what is written once for many is of one fleet, and lasts.
func TestRequestsOfTwoFleetsTakeOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := openCrowd(t)
	const each = 5
	names := []string{"ordinary", "batch"}
	var requests [][]seawall.Check
	for i := range each * len(names) {
		s := slot(t, 1000, 0.2)
		s.Limit = limit(t, fleetshed.Name, names[i%len(names)])
		b := bucket(t, fmt.Sprint("caller", i), ratelimit.PerSecond(10), 10)
		requests = append(requests, []seawall.Check{b, s})
	}
	results, calls := c.all(t, requests...)
	assert.Equal(t, len(names), calls, "one for each fleet")
	for i, res := range results {
		assert.True(t, res[1].Committed, "request %d", i)
		assert.EqualValues(t, 800-i/len(names)-1, res[1].Remaining, "request %d", i)
	}
	for _, name := range names {
		key := "test:{fleet}:" + fleetshed.Name + ":" + name
		holds(t, c.client, key, each)
		lasts := c.client.PTTL(t.Context(), key).Val()
		assert.Greater(t, lasts, 10*time.Second, name)
		assert.LessOrEqual(t, lasts, 12*time.Second, name)
	}
}

// TestMoreLeasesOfAKeyThanACommandTakesAreGivenBack when the store is closed, which gives back all that it holds.
func TestMoreLeasesOfAKeyThanACommandTakesAreGivenBack(t *testing.T) {
	t.Parallel()
	const leases = 9000 // Lua has room for 8000 arguments
	server := redistest.Start(t)
	client := connect(t, server)
	s := openOn(t, client)
	check := lease(t, "hot", 10*leases, time.Minute)
	for range leases {
		_, ok := take(t, s, check)
		require.True(t, ok)
	}
	holds(t, client, leasesKey("hot"), leases)
	require.NoError(t, s.Close(short(t, soon)))
	holds(t, client, leasesKey("hot"), 0)
}
