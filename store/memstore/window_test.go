package memstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// TestAWindowAtTheEpoch has a clock that begins with zero, as those of tests do.
func TestAWindowAtTheEpoch(t *testing.T) {
	s := memstore.New(memstore.Config{Now: func() time.Time { return time.Unix(60, 0) }})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	c := perDay(t, "api", 1)
	var err error
	c.Rule, err = ratelimit.FixedWindow(3, ratelimit.Daily()).Rule()
	require.NoError(t, err)
	for i := range 5 {
		r, _ := ask(t, s, c, seawall.NewKey("a"))
		assert.Equal(t, i < 3, r.Admitted, "request %d", i)
	}
}

// TestAWindowCountsWhatItCanKeep has more counted than a limit can be.
func TestAWindowCountsWhatItCanKeep(t *testing.T) {
	s, advance := small(t, 0)
	c, k := perDay(t, "api", 1), seawall.NewKey("a")
	var err error
	c.Rule, err = ratelimit.FixedWindow(3, ratelimit.Daily()).Rule()
	require.NoError(t, err)
	counted := c
	counted.CountOnly = true
	for _, cost := range []int64{1_000_000_000, 1<<30 - 1_000_000_000} {
		counted.Cost = cost
		ask(t, s, counted, k)
	}
	r, _ := ask(t, s, c, k)
	assert.False(t, r.Admitted)
	advance(24 * time.Hour)
	r, _ = ask(t, s, c, k)
	assert.True(t, r.Admitted)
}
