package httpcontract

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
)

// mistakes has constructors say which value is wrong, and what they want.
func (a Adapter) mistakes(t *testing.T) {
	s := fixture.Limited(t, fixture.Policy("api", 1))
	tier := func(route string, tier seawall.Tier) Guard {
		return Guard{Stack: s, Tiers: map[string]seawall.Tier{route: tier}}
	}
	long := func(route string) Guard { return Guard{Stack: s, LongLived: []string{"GET /ok", route}} }
	for _, c := range []struct {
		guard Guard
		want  string
	}{
		{Guard{}, "the Stack is nil; want one from seawall.New"}, // it would serve, unprotected, for ever
		{tier("/v1/charges", seawall.Read), `Tiers: route "/v1/charges": want "METHOD /pattern"`},
		{tier("get /v1/charges", seawall.Read), `"get /v1/charges"`},
		{tier("GET v1", seawall.Read), `"GET v1"`},
		{tier("GET  /v1", seawall.Read), `"GET  /v1"`},
		{tier("GET /users/{id}", seawall.Read), `"GET /users/{id}"`},
		{tier("", seawall.Read), `route ""`},
		{tier("GET /v1", 7), `route "GET /v1" has tier 7; want seawall.TestMode, Read, Write or Critical`},
		{tier("GET /v1", -2), "has tier -2"},
		{long("/stream"), `LongLived: route "/stream": want "METHOD /pattern"`},
		{long(""), `LongLived: route ""`},
		{Guard{Stack: s, Headers: 9}, "Headers is 9; want Draft11, Draft07, XRateLimit or NoHeaders"},
	} {
		for _, mount := range []Mount{Everywhere, OnRoutes} {
			c.guard.Mount = mount
			h, err := a.Build(t, App{Routes: one("/"), Guards: []Guard{c.guard}})
			require.ErrorContains(t, err, c.want)
			assert.Nil(t, h)
		}
	}
}
