package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/internal/scrape"
	"github.com/seawall-go/seawall/middleware/telemetry"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// flaky is a shared store that fails, and is found well by every probe: the worst for a log.
type flaky struct{ *memstore.Store }

func (flaky) Apply(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
	return dst, errors.New("flaky")
}

// TestAMillionFailuresAreFewLines has every request of some seconds fail in every way at once: without the store, in an
// observer, and with a breaker that opens and closes.
func TestAMillionFailuresAreFewLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		both, err := store.NewFailover(store.FailoverConfig{
			Shared: flaky{memstore.New(memstore.Config{})}, Local: memstore.New(memstore.Config{}), Logger: slog.New(log),
		})
		require.NoError(t, err)
		tel := scrape.Into(t, telemetry.Config{Registerer: prometheus.NewRegistry(), Logger: slog.New(log)})
		s := fixture.Stack(t, seawall.Config{Store: both, Observer: tel}, fixture.Rate(t, fixture.Policy("api", 9)), fixture.Slots(t, 2))
		began, failures := time.Now(), 0
		for time.Since(began) < 10*time.Second {
			for range 50 {
				s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("a")}).Done(t.Context())
				tel.Failed("something", errors.New("other"))
				failures += 2
			}
			time.Sleep(10 * time.Millisecond)
		}
		require.NoError(t, s.Close(context.Background()))
		assert.GreaterOrEqual(t, failures, 100_000)
		assert.LessOrEqual(t, len(log.all), 10*10)
		assert.Greater(t, len(log.all), 10)
	})
}
