package report_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/report"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a stack with a recorder, on a clock of its own.
type world struct {
	*seawall.Stack
	recorder *report.Recorder
	now      time.Time
	late     time.Duration // by which the recorder learns of the last answer
}

func secret() seawall.Secret { return seawall.SecretOf([32]byte{1}) }

// at is a time that tables show well.
func at() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) }

// newWorld returns a stack over a store in memory; everything is log-only if modes do not say otherwise.
func newWorld(t testing.TB, cfg report.Config, modes seawall.Fixed, layers ...seawall.Layer) *world {
	t.Helper()
	return newWorldBehind(t, func(_ *world, s seawall.Store) seawall.Store { return s }, cfg, modes, layers...)
}

// newWorldBehind has something in front of the store.
func newWorldBehind(
	t testing.TB, front func(*world, seawall.Store) seawall.Store, cfg report.Config, modes seawall.Fixed, layers ...seawall.Layer,
) *world {
	t.Helper()
	w := &world{now: at()}
	cfg.Now = func() time.Time { return w.now.Add(w.late) }
	if cfg.CallerID == nil {
		cfg.CallerID = secret().CallerID
	}
	var err error
	w.recorder, err = report.New(cfg)
	require.NoError(t, err)
	if modes == nil {
		modes = seawall.Fixed{}
		for _, l := range layers {
			modes[l.Name()] = seawall.LogOnly
		}
	}
	memory := memstore.New(memstore.Config{Now: func() time.Time { return w.now }})
	w.Stack, err = seawall.New(seawall.Config{Store: front(w, memory), Modes: modes, Observer: w.recorder}, layers...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, w.Close(context.Background()))
		require.NoError(t, memory.Close(context.Background()))
	})
	return w
}

func rate(t testing.TB, policies ...ratelimit.Policy) seawall.Layer {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{Policies: policies})
	require.NoError(t, err)
	return l
}

// ask asks once for a caller, and is done at once.
func (w *world) ask(caller string, cost int64) {
	w.Admit(context.Background(), &seawall.Request{Key: seawall.NewKey(caller), Cost: cost}).Done(context.Background())
}

// id is how the reports of a world call a caller.
func id(caller string) string { return secret().CallerID(seawall.NewKey(caller)) }

// policy returns what the report says of a policy.
func policy(t testing.TB, r report.Report, layer, name string) report.Policy {
	t.Helper()
	for _, p := range r.Policies {
		if p.Layer == layer && p.Name == name {
			return p
		}
	}
	require.Fail(t, "not in the report", "%s:%s", layer, name)
	return report.Policy{}
}

// listed returns what a policy says of a caller.
func listed(t testing.TB, p report.Policy, id string) report.Caller {
	t.Helper()
	for _, c := range p.Callers {
		if c.ID == id {
			return c
		}
	}
	require.Fail(t, "not listed", id)
	return report.Caller{}
}
