package httpcontract

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/guard"
)

func (a Adapter) mounts(t *testing.T) {
	t.Run("anywhere", a.anywhere)
	t.Run("twice", a.twice)
	t.Run("one by one", a.oneByOne)
}

func (a Adapter) anywhere(t *testing.T) {
	for _, c := range []struct {
		mount Mount
		free  int // the status of a route outside the group, when the caller has nothing left
	}{{Everywhere, 429}, {OnGroup, 200}, {OnRoutes, 429}} {
		s := a.serve(t, App{
			Group: "/v1", Routes: append(one("/v1/x"), one("/free")...),
			Guards: []Guard{{Stack: fixture.Limited(t, fixture.Policy("api", 1)), Identify: fixture.AsCaller, Mount: c.mount}},
		})
		assert.Equal(t, http.StatusOK, s.do(t, "GET /v1/x").status, c.mount)
		assert.Equal(t, http.StatusTooManyRequests, s.do(t, "GET /v1/x").status, c.mount)
		assert.Equal(t, c.free, s.do(t, "GET /free").status, c.mount)
	}
}

func (a Adapter) twice(t *testing.T) {
	for name, layer := range map[string]seawall.Layer{
		"ratelimit": fixture.Rate(t, fixture.Policy("api", 1)), "concurrency": slots(t, 1, 1), "fleetshed": fixture.Fleet(t, 1), "workershed": fixture.Workers(t, 1),
	} {
		t.Run(name, func(t *testing.T) {
			store := counted(fixture.Memory(t, nil))
			rec := newRecord()
			cfg := seawall.Config{Store: store, Observer: rec}
			once, again := fixture.Stack(t, cfg, layer), fixture.Stack(t, cfg, layer)
			held := 0
			routes := handled("/v1/x", func(w http.ResponseWriter, r *http.Request) error {
				held = rec.slots()
				return ok(w, r)
			})
			s := a.serve(t, App{Group: "/v1", Routes: routes, Guards: []Guard{
				{Stack: once, Identify: fixture.AsCaller},
				{Stack: once, Identify: fixture.AsCaller},
				{Stack: once, Identify: fixture.AsCaller, Mount: OnGroup},
				{Stack: again, Identify: fixture.AsCaller, Mount: OnRoutes},
			}})
			limits := name == "ratelimit"
			got := s.do(t, "GET /v1/x")
			assert.Equal(t, http.StatusOK, got.status, "one is all there is")
			assert.Len(t, got.header[fieldLimit], map[bool]int{true: 1}[limits])
			assert.Equal(t, map[bool]int{false: 1}[limits], held)
			rec.free(t)
			asked, _ := store.told()
			assert.Equal(t, map[bool]int{false: 1}[name == "workershed"], asked)
			assert.Equal(t, map[bool]int{true: 429, false: 200}[limits], s.do(t, "GET /v1/x").status, "the next request is another one")
		})
	}
}

// oneByOne has each of several guards tell of its own policies.
func (a Adapter) oneByOne(t *testing.T) {
	outer, inner := fixture.Limited(t, fixture.Policy("outer", 3)), fixture.Limited(t, fixture.Policy("inner", 2))
	for style, want := range map[guard.Headers][]map[string]string{
		guard.Draft07: {
			{fieldPolicy: "2;w=2", fieldLimit: "limit=2, remaining=1, reset=1"}, {fieldPolicy: "2;w=2", fieldLimit: "limit=2, remaining=0, reset=1"},
		},
		guard.XRateLimit: {
			{fieldX + "Limit": "2", fieldX + "Remaining": "1", fieldX + "Reset": "1"}, {fieldX + "Limit": "2", fieldX + "Remaining": "0", fieldX + "Reset": "1"},
		},
		guard.Draft11: {
			{fieldPolicy: `"outer";q=3;w=3|"inner";q=2;w=2`, fieldLimit: `"outer";r=2;t=1|"inner";r=1;t=1`},
			{fieldPolicy: `"outer";q=3;w=3|"inner";q=2;w=2`, fieldLimit: `"outer";r=1;t=1|"inner";r=0;t=1`},
		},
	} {
		s := a.serve(t, App{Routes: one("/"), Guards: []Guard{
			{Stack: outer, Identify: fixture.AsCaller, Headers: style}, {Stack: inner, Identify: fixture.AsCaller, Headers: style, Mount: OnRoutes},
		}})
		for _, told := range want {
			assert.Equal(t, told, quotaFields(s.do(t, "GET /").header))
		}
		got := s.do(t, "GET /")
		assert.Equal(t, http.StatusTooManyRequests, got.status)
		assert.Equal(t, "inner", got.problem(t).Policy)
		outer, inner = fixture.Limited(t, fixture.Policy("outer", 3)), fixture.Limited(t, fixture.Policy("inner", 2))
	}
}
