package httpcontract

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// failures has a store that fails never be the incident.
func (a Adapter) failures(t *testing.T) {
	for how, fail := range map[string]func(context.Context) error{
		"fails":  gone,
		"panics": func(context.Context) error { panic("store") },
		"hangs":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		for name, c := range map[string]struct {
			onFailure seawall.Failure
			served    bool
		}{"open": {seawall.FailOpen, true}, "local": {seawall.FailLocal, true}, "closed": {seawall.FailClosed, false}} {
			t.Run("a store that "+how+", fail "+name, func(t *testing.T) {
				p := fixture.Policy("api", 5)
				p.OnFailure = c.onFailure
				rec := newRecord()
				s := a.behind(t, fixture.Stack(t, seawall.Config{Store: broken{fail}, Observer: rec},
					fixture.Rate(t, p), slots(t, 5, 5), fixture.Fleet(t, 5), fixture.Workers(t, 5)))
				for range 3 {
					got := s.do(t, "GET /")
					assert.Empty(t, quotaFields(got.header), "numbers that nobody knows are not told")
					if c.served {
						assert.Equal(t, http.StatusOK, got.status)
						assert.NotContains(t, got.header, "Retry-After")
						continue
					}
					assert.Equal(t, http.StatusServiceUnavailable, got.status)
					assert.Contains(t, []string{"1", "2"}, got.header.Get("Retry-After"))
					assert.Equal(t, guard.MediaType, got.header.Get("Content-Type"))
					assert.Equal(t, "api", got.problem(t).Policy)
				}
				rec.free(t)
			})
		}
	}
	t.Run("a failover's local share", a.localShare)
}

// localShare has an instance without its store go on by a share of its own.
func (a Adapter) localShare(t *testing.T) {
	f, err := store.NewFailover(store.FailoverConfig{
		Shared: broken{gone}, Local: memstore.New(memstore.Config{}), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	slow := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerHour(1), 3)}
	s := a.behind(t, fixture.Stack(t, seawall.Config{Store: f}, fixture.Rate(t, slow)))
	var statuses []int
	for range 4 {
		got := s.do(t, "GET /")
		statuses = append(statuses, got.status)
		assert.Empty(t, quotaFields(got.header))
	}
	assert.Equal(t, []int{200, 200, 200, 429}, statuses)
}
