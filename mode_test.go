package seawall_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

func TestFixedModesOfUnknownNamesAreRefused(t *testing.T) {
	store := memstore.New(memstore.Config{})
	t.Cleanup(func() { assert.NoError(t, store.Close(context.Background())) })
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1)},
	}})
	require.NoError(t, err)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1})
	require.NoError(t, err)
	worker := newSwitch(t)
	const known = `; want one of ["concurrency" "concurrency:in-flight" "concurrency:long-lived" "ratelimit" "ratelimit:api"` +
		` "workershed" "workershed:utilization"]`
	for name, want := range map[string]string{
		"ratelimit": "", "ratelimit:api": "", "concurrency:in-flight": "", "workershed": "", "workershed:utilization": "",
		"ratelimit:later":        "", // a Reloader may get it
		"ratelimt":               `seawall: Modes has "ratelimt", which this stack does not` + known,
		"ratelimt:api":           `"ratelimt:api"` + ", which this stack does not" + known,
		"concurrency:inflight":   `"concurrency:inflight", which this stack does not` + known,
		"workershed:utilisation": `"workershed:utilisation", which this stack does not` + known,
		"fleetshed":              `"fleetshed", which this stack does not` + known,
		"ratelimit:":             `"ratelimit:", which this stack does not` + known,
		"ratelimit:API":          `"ratelimit:API", which this stack does not` + known,
		"":                       `"", which this stack does not` + known,
	} {
		for _, mode := range []seawall.Mode{seawall.Enforce, seawall.LogOnly} {
			s, err := seawall.New(seawall.Config{Store: store, Modes: seawall.Fixed{name: mode}}, rate, slots, worker)
			if want == "" {
				assert.NoError(t, err, name)
				continue
			}
			assert.Nil(t, s, name)
			assert.ErrorContains(t, err, want)
		}
	}
	_, err = seawall.New(seawall.Config{Store: store, Modes: seawall.Fixed(nil)}, rate)
	assert.NoError(t, err)
}
