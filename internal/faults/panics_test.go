package faults

import (
	"sync/atomic"
	"testing"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
)

// panics are the faults of a limiter's own code.
func panics() []fault {
	return []fault{{
		number: 60, name: "A limiter panics", injection: "a layer of one's own that panics on every request",
		promise: "all served but logins, which are refused; label `panic`", short: true,
		run: func(t *testing.T, r *row) {
			limit, err := seawall.NewLimit("moody", "any", seawall.FailLocal)
			if err != nil {
				t.Fatal(err)
			}
			layer := &moody{limit: limit}
			s := setup{url: redistest.Start(t).URL(), extra: layer}
			r.survives(t, s, outage{
				inject: func() { layer.panics.Store(true) }, heal: func() { layer.panics.Store(false) }, brief: true,
				reasons: []string{"panic"},
			})
		},
	}}
}

// moody is a layer that panics at times.
type moody struct {
	limit  *seawall.Limit
	panics atomic.Bool
}

func (m *moody) Name() string             { return "moody" }
func (m *moody) Cause() seawall.Cause     { return seawall.CauseQuota }
func (m *moody) Limits() []*seawall.Limit { return []*seawall.Limit{m.limit} }

// Plan implements seawall.Layer.
func (m *moody) Plan(dst []seawall.Check, _ *seawall.Request) []seawall.Check {
	if m.panics.Load() {
		panic("moody")
	}
	return dst
}
