package httpcontract

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/identity"
)

func (a Adapter) tiers(t *testing.T) {
	st, rec := recorded(t)
	h := fixture.Hasher(t)
	given := map[string]seawall.Tier{
		"POST /v1/charges": seawall.Critical, "GET /v1/charges/:id": seawall.TestMode, "GET /v1/reports": seawall.Write, "HEAD /v1/reports": seawall.Critical,
	}
	s := a.serve(t, App{
		Routes: append(charges(), patterned(
			Route{http.MethodHead, "/v1/charges/:id", nil}, Route{http.MethodPost, "/v1/charges/:id", nil},
			Route{http.MethodOptions, "/v1/reports", nil}, Route{http.MethodPut, "/v1/reports", nil})...),
		Guards: []Guard{{
			Stack: st, Tiers: given,
			Classify: func(r *http.Request, tier seawall.Tier) seawall.Tier {
				if r.URL.Query().Has("lower") {
					return tier - 1
				}
				return tier
			},
			Identify: h.ByAPIKey(identity.APIKey{Test: func(key string) bool { return strings.HasPrefix(key, "sk_test_") }}),
		}},
	})
	delete(given, "POST /v1/charges") // the table was copied
	for _, c := range []struct {
		request string
		want    seawall.Tier
		with    []with
	}{
		{"POST /v1/charges", seawall.Critical, nil},
		{"POST /v1/charges?x=1", seawall.Critical, nil},
		{"GET /v1/charges/4711", seawall.TestMode, nil},
		{"HEAD /v1/charges/4711", seawall.TestMode, nil}, // as GET
		{"POST /v1/charges/4711", seawall.Write, nil},
		{"GET /v1/reports", seawall.Write, nil},
		{"HEAD /v1/reports", seawall.Critical, nil}, // something else is said
		{"OPTIONS /v1/reports", seawall.Read, nil},
		{"PUT /v1/reports", seawall.Write, nil},
		{"GET /v1/files/x", seawall.Read, nil},
		{"GET /nowhere", seawall.Read, nil},
		{"POST /nowhere", seawall.Write, nil},
		{"PROPFIND /nowhere", seawall.Write, nil},
		{"post /v1/charges", seawall.Write, nil},
		{"POST /v1/charges?lower", seawall.Write, nil},
		{"POST /v1/charges", seawall.TestMode, []with{header("Authorization", "Bearer sk_test_1")}},
		{"POST /v1/charges?lower", seawall.TestMode, []with{header("Authorization", "Bearer sk_test_1")}},
		{"POST /v1/charges", seawall.Critical, []with{header("Authorization", "Bearer sk_live_1")}},
		{"GET /v1/files/x", seawall.Read, []with{
			header("X-Priority", "critical"), header("Priority", "u=0"), header("X-Tier", "critical"), header("X-Test-Mode", "1"),
			header("X-HTTP-Method-Override", "POST"), header("Upgrade", "websocket"), header("Connection", "Upgrade"),
			header("Accept", "text/event-stream"), header("Sec-WebSocket-Key", "x"),
		}},
	} {
		s.do(t, c.request, c.with...)
		got := rec.last(t)
		assert.Equal(t, c.want, got.tier, "%s is %v", c.request, got.tier)
		assert.False(t, got.longLived, c.request)
	}
}
