package proof

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/proof/model"
	"github.com/seawall-go/seawall/ratelimit"
)

// The layers' and policies' names of a dark launch's plan.
const (
	localLayer, localPolicy          = "workershed", "utilization"
	inFlight, longLived, heavyWeight = concurrency.DefaultPolicy, concurrency.LongLivedPolicy, "heavy"
	ordinary, critical               = "ordinary", "critical"
	heavyRoute, bigPlan              = "/heavy", "big"
)

// darkTTL is as long as a lease can last: a store on Redis, which renews by the real time, renews none during a trace.
const darkTTL = time.Hour

// darkPlan says what layers there are, and how strict.
type darkPlan struct {
	local    bool     // a local layer, which refuses as the trace says
	workers  int64    // of a real worker shedder in its place, which refuses from so many in flight on; 0 is none
	remote   []string // the other layers, in order
	policies []darkPolicy
	slots    int64 // of a caller, streams of long-lived requests, and weight on the heavy route
	streams  int64
	weight   int64
	fleet    int64 // workers
	reserve  int64 // of them, for critical requests
}

// darkPolicy is a policy of rates.
type darkPolicy struct {
	name     string
	own, big darkQuota // what callers have, and those under the big plan
	byGroup  bool      // callers of a group share it
	heavy    bool      // it is about the heavy route only
}

// darkQuota is a quota, explained and real.
type darkQuota struct {
	explained model.Rule
	real      ratelimit.Quota
}

// layers are the names of the layers, in order.
func (p darkPlan) layers() []string {
	if p.local || p.workers > 0 {
		return append([]string{localLayer}, p.remote...)
	}
	return p.remote
}

// limits are the names of all limits, by layer.
func (p darkPlan) limits(layer string) []string {
	switch layer {
	case localLayer:
		return []string{localPolicy}
	case concurrency.Name:
		return []string{inFlight, longLived, heavyWeight}
	case fleetshed.Name:
		return []string{ordinary, critical}
	}
	var names []string
	for _, policy := range p.policies {
		names = append(names, policy.name)
	}
	return names
}

// switches are the names of all that has a mode: each layer, and each limit.
func (p darkPlan) switches() []string {
	var names []string
	for _, layer := range p.layers() {
		names = append(names, layer)
		for _, policy := range p.limits(layer) {
			names = append(names, layer+":"+policy)
		}
	}
	return names
}

func (p darkPlan) String() string {
	text := fmt.Sprintf("layers %v, %d slots, %d streams, weight %d, fleet of %d, %d reserved, %d workers",
		p.layers(), p.slots, p.streams, p.weight, p.fleet, p.reserve, p.workers)
	for _, q := range p.policies {
		text += fmt.Sprintf("\n%s: %v, big %v, by group %v, on the heavy route %v",
			q.name, q.own.real, q.big.real, q.byGroup, q.heavy)
	}
	return text
}

// drawDarkPlan draws a plan that a few requests exhaust.
func drawDarkPlan(t *rapid.T) darkPlan {
	p := darkPlan{
		local:   odds(t, "local", 2),
		remote:  rapid.Permutation([]string{ratelimit.Name, concurrency.Name, fleetshed.Name}).Draw(t, "order"),
		slots:   rapid.Int64Range(1, 3).Draw(t, "slots"),
		streams: rapid.Int64Range(1, 2).Draw(t, "streams"),
		weight:  rapid.Int64Range(2, 5).Draw(t, "weight"),
		fleet:   oneOf[int64](t, "fleet", 4, 4, 5, 8), // whose parts are whole millionths
	}
	p.reserve = rapid.Int64Range(0, p.fleet-2).Draw(t, "reserve")
	if odds(t, "not all layers", 4) {
		p.remote = p.remote[:rapid.IntRange(1, 2).Draw(t, "layers")]
	}
	kinds := []func(*rapid.T, int64) darkQuota{darkBucket, darkLog, darkCounter, darkWindow}
	for i := range rapid.IntRange(2, 3).Draw(t, "policies") {
		k := rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")
		of := kinds[k]
		kinds = slices.Delete(slices.Clone(kinds), k, k+1) // each is another
		p.policies = append(p.policies, darkPolicy{
			name: "rate-" + string(rune('a'+i)), own: of(t, 6), big: of(t, 12),
			byGroup: odds(t, "by group", 4), heavy: odds(t, "heavy", 5),
		})
	}
	return p
}

// darkTimes are what rates are counted by.
var darkTimes = []time.Duration{time.Second, 7 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute}

func darkBucket(t *rapid.T, most int64) darkQuota {
	burst := rapid.Int64Range(1, most).Draw(t, "burst")
	rate := ratelimit.Rate{Count: rapid.Int64Range(1, 5).Draw(t, "count"), Per: oneOf(t, "per", darkTimes...)}
	return darkQuota{model.Bucket{Count: rate.Count, Per: rate.Per, Burst: burst}, ratelimit.TokenBucket(rate, burst)}
}

func darkLog(t *rapid.T, most int64) darkQuota {
	n, window := rapid.Int64Range(1, most).Draw(t, "limit"), oneOf(t, "window", darkTimes...)
	return darkQuota{model.Log{Max: n, Window: window}, ratelimit.SlidingLog(n, window)}
}

func darkCounter(t *rapid.T, most int64) darkQuota {
	n, window := rapid.Int64Range(1, most).Draw(t, "limit"), oneOf(t, "window", darkTimes...)
	return darkQuota{model.Counter{Max: n, Window: window}, ratelimit.SlidingCounter(n, window)}
}

func darkWindow(t *rapid.T, most int64) darkQuota {
	n, every := rapid.Int64Range(1, most).Draw(t, "limit"), oneOf(t, "every", darkTimes...)
	return darkQuota{
		model.Window{Max: n, Calendar: model.Calendar{Every: every, Anchor: time.Unix(0, 0)}},
		ratelimit.FixedWindow(n, ratelimit.Every(every)),
	}
}

// build returns the layers that ask a store, in order.
func (p darkPlan) build() (layers []seawall.Layer, err error) {
	var policies []ratelimit.Policy
	for _, q := range p.policies {
		policy := ratelimit.Policy{Name: q.name, Quota: q.own.real, Plans: map[string]ratelimit.Quota{bigPlan: q.big.real}}
		if q.byGroup {
			policy.Key = func(r *seawall.Request) seawall.Key { return r.More[0] }
		}
		if q.heavy {
			policy.Routes = []string{heavyRoute}
		}
		policies = append(policies, policy)
	}
	for _, name := range p.remote {
		var l seawall.Layer
		switch name {
		case ratelimit.Name:
			l, err = ratelimit.New(ratelimit.Config{Policies: policies})
		case concurrency.Name:
			l, err = concurrency.New(concurrency.Config{
				MaxInFlight: p.slots, MaxLongLived: p.streams, TTL: darkTTL,
				Policies: []concurrency.Policy{{
					Name: heavyWeight, MaxInFlight: p.weight, Routes: []string{heavyRoute}, TTL: darkTTL, Weight: (*seawall.Request).Units,
				}},
			})
		default:
			l, err = fleetshed.New(fleetshed.Config{Workers: p.fleet, Reserve: float64(p.reserve) / float64(p.fleet), TTL: darkTTL})
		}
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return layers, nil
}
