package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
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
)

// lines is a slog.Handler that keeps what is logged.
type lines struct {
	mu  sync.Mutex
	all []map[string]any
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	line := map[string]any{"msg": r.Message, "level": r.Level}
	r.Attrs(func(a slog.Attr) bool {
		line[a.Key] = a.Value.Any()
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
	return nil
}

func TestAtMostOneLineASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		tel := scrape.Into(t, telemetry.Config{Registerer: prometheus.NewPedanticRegistry(), Logger: slog.New(log)})
		failure := errors.New("gone")
		fail := func(times int) {
			for range times {
				tel.Failed("release", failure)
			}
		}
		fail(1) // right at the start
		assert.Len(t, log.all, 1)
		fail(41)
		time.Sleep(999 * time.Millisecond)
		fail(1)
		assert.Len(t, log.all, 1)
		time.Sleep(time.Millisecond)
		fail(3)
		require.Len(t, log.all, 2)
		time.Sleep(time.Hour)
		fail(1)
		require.Len(t, log.all, 3)
		assert.Equal(t, map[string]any{
			"msg": "seawall: release failed", "level": slog.LevelWarn, "reason": "error", "error": failure, "kept_back": int64(0),
		}, log.all[0])
		assert.EqualValues(t, 42, log.all[1]["kept_back"])
		assert.EqualValues(t, 2, log.all[2]["kept_back"])
	})
}

func TestOneLineASecondForAllGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		tel := scrape.Into(t, telemetry.Config{Registerer: prometheus.NewPedanticRegistry(), Logger: slog.New(log)})
		for range 8 {
			go func() {
				for range 100 {
					tel.Asking(t.Context(), nil)(0, because("timeout"))
				}
			}()
		}
		synctest.Wait()
		require.Len(t, log.all, 1)
		assert.Equal(t, "seawall: decided without the store", log.all[0]["msg"])
		assert.Equal(t, "timeout", log.all[0]["reason"])
		time.Sleep(time.Second)
		tel.Asking(t.Context(), nil)(0, because("busy"))
		assert.EqualValues(t, 0, log.all[1]["kept_back"], "those that were kept back had another reason")
		tel.Asking(t.Context(), nil)(0, because("timeout"))
		assert.EqualValues(t, 799, log.all[0]["kept_back"].(int64)+log.all[2]["kept_back"].(int64), "none is lost")
	})
}

func TestASuccessLogsNothing(t *testing.T) {
	log := &lines{}
	tel := scrape.Into(t, telemetry.Config{Registerer: prometheus.NewPedanticRegistry(), Logger: slog.New(log)})
	e := behind(t, seawall.Config{Store: fixture.Memory(t, nil), Observer: tel}, fixture.Rate(t, fixture.Policy("api", 1)), fixture.Slots(t, 1))
	get(e)
	assert.Empty(t, log.all)
	get(behind(t, seawall.Config{Store: fixture.Broken{Err: because("oom")}, Observer: tel}, fixture.Slots(t, 1)))
	require.Len(t, log.all, 1)
	assert.Equal(t, "oom", log.all[0]["reason"])
}

func TestWhatFailsAllTheTimeDoesNotHideWhatFailsOnce(t *testing.T) {
	log := &lines{}
	tel := scrape.Into(t, telemetry.Config{Registerer: prometheus.NewPedanticRegistry(), Logger: slog.New(log)})
	for range 100 {
		tel.Asking(t.Context(), nil)(0, because("timeout"))
	}
	tel.Failed("verdict of workershed", because("panic"))
	require.Len(t, log.all, 2)
	assert.Equal(t, "seawall: verdict of workershed failed", log.all[1]["msg"])
	for i := range 100 {
		tel.Failed(fmt.Sprint("something ", i), because("panic"))
	}
	assert.Less(t, len(log.all), 40, "however many messages there are")
}
