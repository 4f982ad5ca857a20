package store_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// places plays a shared store that lies at several places: callers whose names begin with an a are at the first.
type places struct {
	*remote
	all [2]*remote
}

var _ seawall.Sharded = (*places)(nil)

func (p *places) Shard(k seawall.Key) seawall.Shard {
	if strings.Contains(k.String(), ".a") {
		return place{p.all[0], "a's"}
	}
	return place{p.all[1], "b's"}
}

// place is one of them, with a name of its own.
type place struct {
	*remote
	name string
}

func (p place) Where() string { return p.name }

func (p *places) Release(ctx context.Context, leases ...seawall.Lease) error {
	return errors.Join(p.all[0].Release(ctx, leases...), p.all[1].Release(ctx, leases...))
}

func (p *places) Close(ctx context.Context) error {
	return errors.Join(p.all[0].Close(ctx), p.all[1].Close(ctx), p.remote.Close(ctx))
}

// startAtPlaces starts one of four instances, whose shared store lies at several places.
func startAtPlaces(t *testing.T, layers ...seawall.Layer) (*instance, *places) {
	t.Helper()
	in, p := &instance{log: &said{}}, &places{}
	for _, r := range []**remote{&p.remote, &p.all[0], &p.all[1]} {
		*r = &remote{Store: memstore.New(memstore.Config{}), fleet: seawall.Fleet{Instances: 4, Announced: true}}
	}
	in.remote = p.remote
	var err error
	in.Failover, err = store.NewFailover(store.FailoverConfig{
		Shared: p, Local: memstore.New(memstore.Config{}), Logger: slog.New(slog.NewTextHandler(in.log, nil)),
	})
	require.NoError(t, err)
	in.stack, err = seawall.New(seawall.Config{Store: in.Failover}, layers...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, in.stack.Close(context.Background())) })
	return in, p
}

// TestAPlaceThatFailsIsGivenUpAlone and what lies elsewhere is decided there, all the time.
func TestAPlaceThatFailsIsGivenUpAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, p := startAtPlaces(t, rates(t, api(ratelimit.TokenBucket(ratelimit.PerSecond(1000), 1000))))
		for range 10 {
			in.ask(by("a"))
			in.ask(by("b"))
		}
		assert.Equal(t, map[string]bool{"a's": false, "b's": false}, in.Shards())
		p.all[0].set(func(r *remote) { r.err = because("readonly") })
		for !in.Open() {
			_, results := in.ask(by("a"))
			require.True(t, results[0].Admitted && results[0].Fallback)
			_, results = in.ask(by("b"))
			require.False(t, results[0].Fallback)
			time.Sleep(10 * time.Millisecond) // of the bubble, between requests
		}
		assert.Equal(t, map[string]bool{"a's": true, "b's": false}, in.Shards())
		asked, _ := p.all[0].calls()
		for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(10 * time.Millisecond) {
			_, results := in.ask(by("b"))
			require.False(t, results[0].Fallback)
			_, results = in.ask(by("a"))
			require.True(t, results[0].Fallback)
		}
		askedNow, probed := p.all[0].calls()
		assert.Equal(t, asked, askedNow, "it is not asked")
		assert.Positive(t, probed)
		_, probed = p.all[1].calls()
		assert.Zero(t, probed, "which was never given up")

		p.all[0].set(func(r *remote) { r.err = nil })
		for began := time.Now(); in.Open(); time.Sleep(time.Millisecond) {
			require.Less(t, time.Since(began), time.Second)
		}
		_, results := in.ask(by("a"))
		assert.False(t, results[0].Fallback)
		whole, _ := p.calls()
		assert.Zero(t, whole, "only places are asked")
	})
}

// TestARequestAtTwoPlacesIsServedInPart by the one that is there, and by this instance's share of the other.
func TestARequestAtTwoPlacesIsServedInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots, err := concurrency.New(concurrency.Config{MaxInFlight: 8})
		require.NoError(t, err)
		perUser := func(*seawall.Request) seawall.Key { return seawall.NewKey("b", "user") }
		address := api(ratelimit.TokenBucket(ratelimit.PerDay(1), 8))
		user := ratelimit.Policy{Name: "user", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 100), Key: perUser}
		in, p := startAtPlaces(t, rates(t, address, user), slots)
		_, results := in.ask(by("a"))
		require.Len(t, results, 3)
		assert.EqualValues(t, 7, results[0].Remaining)
		assert.EqualValues(t, 99, results[1].Remaining)

		p.all[0].set(func(r *remote) { r.err = because("readonly") })
		admitted := 0
		for range 5 {
			a := in.stack.Admit(context.Background(), by("a"))
			defer a.Done(context.Background())
			results := a.Results()
			if !a.Decision().Denied {
				admitted++
			}
			assert.True(t, results[0].Fallback && results[2].Fallback)
			assert.False(t, results[1].Fallback)
		}
		assert.Equal(t, 2, admitted, "a quarter of what was left, and of the slots")
		_, results = in.ask(by("b"))
		assert.EqualValues(t, 96, results[1].Remaining, "what was refused elsewhere was taken back here")
	})
}
