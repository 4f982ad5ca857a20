package httpcontract

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/identity"
)

// patterned are routes whose handlers tell their pattern.
func patterned(routes ...Route) []Route {
	for i, r := range routes {
		routes[i].Handler = func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("X-Pattern", r.Pattern)
			return nil
		}
	}
	return routes
}

func charges() []Route {
	return patterned(
		Route{http.MethodGet, "/v1/charges/:id", nil}, Route{http.MethodPost, "/v1/charges", nil},
		Route{http.MethodGet, "/v1/files/*", nil}, Route{http.MethodGet, "/v1/reports", nil}, Route{http.MethodHead, "/v1/reports", nil},
	)
}

// table is what most frameworks make of requests; Adapter.Differs says where one does not.
func table() map[string]Answered {
	charge := Answered{200, "/v1/charges/:id", false}
	none := Answered{404, "", false}
	return map[string]Answered{
		"GET /v1/charges/4711":                charge,
		"GET /v1/charges/4711?a=/v1/reports":  charge,
		"GET /v1/charges/47%2f11":             charge,
		"GET /v1/charges/%34%37%31%31":        charge,
		"GET /v1/charges/:id":                 charge,
		"GET /v1/files/a/b/c":                 {200, "/v1/files/*", false},
		"GET /v1/files/":                      {200, "/v1/files/*", false},
		"POST /v1/charges":                    {200, "/v1/charges", false},
		"GET /v1/reports":                     {200, "/v1/reports", false},
		"HEAD /v1/reports":                    {200, "/v1/reports", false},
		"HEAD /v1/charges/4711":               {405, "/v1/charges/:id", false},
		"DELETE /v1/charges/4711":             {405, "/v1/charges/:id", false},
		"OPTIONS /v1/charges/4711":            {204, "/v1/charges/:id", false},
		"get /v1/charges/4711":                {405, "/v1/charges/:id", false},
		"GET /v1/charges":                     {405, "/v1/charges", false},
		"GET /":                               none,
		"GET /nowhere":                        none,
		"POST /nowhere":                       none,
		"GET /V1/Charges/4711":                none,
		"GET /v1/charges/4711/":               charge, // Echo's last parameter takes the rest
		"GET /v1/charges/4711/refunds":        charge,
		"GET /v1/charges%2f4711":              none,
		"GET //v1/charges/4711":               none,
		"GET /v1//charges/4711":               none,
		"GET /v1/reports/":                    none,
		"GET /v1/./reports":                   none,
		"GET /v1/files/../reports":            {200, "/v1/files/*", false},
		"GET /v1/files/%2e%2e/reports":        {200, "/v1/files/*", false},
		"GET /v1/reports;x=1":                 none,
		"GET /v1/reports%00":                  none,
		"GET /.well-known/security.txt?a=b#c": none,
	}
}

func (a Adapter) routes(t *testing.T) {
	t.Run("are what the layers see", a.routesSeen)
	t.Run("below a group", a.belowGroup)
	t.Run("have policies of their own", a.policiesByRoute)
	t.Run("are not the caller's to choose", a.noOverride)
	t.Run("that are not there make no buckets", a.noise)
}

func (a Adapter) routesSeen(t *testing.T) {
	st, rec := recorded(t)
	s := a.serve(t, App{Routes: charges(), Guards: []Guard{{Stack: st, Identify: fixture.AsCaller}}})
	all := table()
	for request := range a.Differs {
		require.Contains(t, all, request, "it differs in what is not in the table")
	}
	for request, want := range all {
		if other, differs := a.Differs[request]; differs {
			assert.NotEqual(t, want, other, "%s does not differ", request)
			want = other
		}
		a.asked(t, s, rec, request, want)
	}
}

// asked asks, and compares what the layers see. Whatever reaches a handler must be of that handler's route.
func (a Adapter) asked(t *testing.T, s *api, rec *record, request string, want Answered) {
	t.Helper()
	got := s.do(t, request)
	of := Answered{Status: got.status, Unseen: true}
	for _, saw := range rec.take() {
		of.Route, of.Unseen = saw.route, false
	}
	assert.Equal(t, want, of, request)
	if pattern := got.header.Get("X-Pattern"); pattern != "" {
		assert.Equal(t, pattern, of.Route, "%s reached a handler as another route", request)
	}
}

func (a Adapter) belowGroup(t *testing.T) {
	st, rec := recorded(t)
	s := a.serve(t, App{Group: "/v1", Routes: charges(), Guards: []Guard{{Stack: st, Identify: fixture.AsCaller, Mount: OnGroup}}})
	for request, want := range map[string]Answered{
		"GET /v1/charges/4711": {200, "/v1/charges/:id", false},
		"GET /v1/files/a":      {200, "/v1/files/*", false},
		"HEAD /v1/reports":     {200, "/v1/reports", false},
		"GET /nowhere":         {404, "", true},
	} {
		a.asked(t, s, rec, request, want)
	}
	for request, want := range a.InGroup {
		a.asked(t, s, rec, request, want)
	}
}

func (a Adapter) policiesByRoute(t *testing.T) {
	charge, files, writes := fixture.Policy("charge", 1), fixture.Policy("files", 2), fixture.Policy("writes", 1)
	charge.Routes, files.Routes = []string{"/v1/charges/:id"}, []string{"/v1/files/*"}
	writes.Match = func(r *seawall.Request) bool { return r.Tier >= seawall.Write }
	s := a.serve(t, App{Routes: charges(), Guards: []Guard{{Stack: fixture.Limited(t, charge, files, writes), Identify: fixture.AsCaller}}})
	for i, c := range []struct {
		request  string
		status   int
		policies []string
	}{
		{"GET /v1/charges/1", 200, []string{"charge"}},
		{"GET /v1/charges/2", 429, []string{"charge"}}, // a parameter is no route
		{"GET /v1/charges/%32?x=3", 429, []string{"charge"}},
		{"GET /v1/files/a", 200, []string{"files"}},
		{"GET /v1/files/b/c", 200, []string{"files"}},
		{"GET /v1/files/d", 429, []string{"files"}},
		{"POST /v1/charges", 200, []string{"writes"}},
		{"POST /v1/charges", 429, []string{"writes"}},
		{"GET /v1/reports", 200, nil},
		{"GET /v1/reports", 200, nil},
		{"GET /nowhere", 404, nil},
	} {
		got := s.do(t, c.request)
		assert.Equal(t, c.status, got.status, "%d: %s", i, c.request)
		if c.policies == nil {
			assert.Empty(t, quotaFields(got.header), c.request)
			continue
		}
		var names []string
		for _, of := range list(t, got.header, fieldLimit) {
			names = append(names, of.name)
		}
		assert.Equal(t, c.policies, names, c.request)
	}
}

func (a Adapter) noOverride(t *testing.T) {
	st, rec := recorded(t)
	s := a.serve(t, App{Routes: charges(), Guards: []Guard{{Stack: st, Identify: fixture.AsCaller}}})
	for _, name := range []string{
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix", "X-Original-Method",
	} {
		for _, value := range []string{"GET", "DELETE", "/v1/reports"} {
			assert.Equal(t, http.StatusOK, s.do(t, "POST /v1/charges?_method="+value, header(name, value)).status)
			got := rec.last(t)
			assert.Equal(t, "/v1/charges", got.route, name)
			assert.Equal(t, seawall.Write, got.tier, name)
		}
	}
}

// noise has all that is not there spend from the one bucket that the caller has.
func (a Adapter) noise(t *testing.T) {
	store := counted(fixture.Memory(t, nil))
	s := a.serve(t, App{Routes: charges(), Guards: []Guard{{
		Stack: fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy("api", 60))),
		Identify: func(_ identity.Call, r *seawall.Request) error {
			r.Key = caller()
			return nil
		},
	}}})
	refused := 0
	for i := range 100 {
		got := s.do(t, []string{"GET", "POST", "DELETE", "PROPFIND"}[i%4]+fmt.Sprintf(" /%x/wp-login-%d.php?n=%d", i*i, i, i))
		if got.status == http.StatusTooManyRequests {
			refused++
		}
	}
	asked, buckets := store.told()
	assert.Equal(t, 40, refused)
	assert.Equal(t, 100, asked)
	assert.Equal(t, 1, buckets)
}
