package nethttp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/seawall-go/seawall/internal/httpcontract"
	"github.com/seawall-go/seawall/middleware/nethttp"
)

func TestContract(t *testing.T) {
	httpcontract.Run(t, httpcontract.Adapter{Build: contracted, Differs: differs(), InGroup: map[string]httpcontract.Answered{
		"GET /v1/nowhere":         {Status: 404, Route: ""},
		"DELETE /v1/charges/4711": {Status: 405, Route: ""},
		"GET /v1//charges/4711":   {Status: 307, Unseen: true}, // by the outer mux
	}})
}

// differs is what a ServeMux does unlike Echo: GET is HEAD, too; of a method that a path has not, no pattern is known; a
// wildcard is one segment, and paths are cleaned, by redirects of the route that they lead to.
func differs() map[string]httpcontract.Answered {
	const charge = "/v1/charges/:id"
	return map[string]httpcontract.Answered{
		"HEAD /v1/charges/4711":        {Status: 200, Route: charge},
		"DELETE /v1/charges/4711":      {Status: 405, Route: ""},
		"OPTIONS /v1/charges/4711":     {Status: 405, Route: ""},
		"get /v1/charges/4711":         {Status: 405, Route: ""},
		"GET /v1/charges":              {Status: 405, Route: ""},
		"GET /v1/charges/4711/":        {Status: 404, Route: ""},
		"GET /v1/charges/4711/refunds": {Status: 404, Route: ""},
		"GET //v1/charges/4711":        {Status: 307, Route: charge},
		"GET /v1//charges/4711":        {Status: 307, Route: charge},
		"GET /v1/./reports":            {Status: 307, Route: "/v1/reports"},
		"GET /v1/files/../reports":     {Status: 307, Route: "/v1/reports"},
	}
}

// contracted builds an app of the contract in a ServeMux.
func contracted(_ testing.TB, app httpcontract.App) (http.Handler, error) {
	mux := http.NewServeMux()
	at := map[httpcontract.Mount]func(http.Handler) http.Handler{}
	for _, m := range []httpcontract.Mount{httpcontract.Everywhere, httpcontract.OnGroup, httpcontract.OnRoutes} {
		at[m] = func(h http.Handler) http.Handler { return h }
	}
	group := mux
	if app.Group != "" {
		group = http.NewServeMux()
	}
	for _, g := range app.Guards {
		cfg := guarded(g)
		switch g.Mount {
		case httpcontract.Everywhere:
			cfg.Route = nethttp.MuxRoute(mux)
		case httpcontract.OnGroup:
			cfg.Route = nethttp.MuxRoute(group)
		}
		mw, err := cfg.ToMiddleware()
		if err != nil {
			return nil, err
		}
		outer := at[g.Mount]
		at[g.Mount] = func(h http.Handler) http.Handler { return outer(mw(h)) }
	}
	for _, r := range app.Routes {
		on := mux
		if app.Group != "" && strings.HasPrefix(r.Pattern, app.Group) {
			on = group
		}
		on.Handle(r.Method+" "+pattern(r.Pattern), at[httpcontract.OnRoutes](http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if err := r.Handler(w, q); err != nil {
				http.Error(w, "internal", http.StatusInternalServerError)
			}
		})))
	}
	if app.Group != "" {
		mux.Handle(app.Group+"/", at[httpcontract.OnGroup](group))
	}
	return outside(app, at[httpcontract.Everywhere](mux)), nil
}

// outside puts what an app has outside of its guards around them.
func outside(app httpcontract.App, h http.Handler) http.Handler {
	if principal := app.Principal; principal != nil {
		inner := h
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			//nolint:staticcheck,revive // identity.Call finds it by the name itself
			inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), "principal", principal(r))))
		})
	}
	if app.Recover {
		h = recovering(h)
	}
	if tell := app.Outer; tell != nil {
		inner := h
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			saw := &status{w, http.StatusOK}
			inner.ServeHTTP(saw, r)
			tell(httpcontract.Seen{Status: saw.code})
		})
	}
	return h
}

// status keeps the status of an answer.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// recovering answers panics with 500, save for http.ErrAbortHandler.
func recovering(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// pattern is a route as a ServeMux has it; a path that ends in a slash is that path alone.
func pattern(route string) string {
	segments := strings.Split(route, "/")
	for i, s := range segments {
		name, param := strings.CutPrefix(s, ":")
		switch {
		case param:
			segments[i] = "{" + name + "}"
		case s == "*":
			segments[i] = "{rest...}"
		case s == "" && i == len(segments)-1:
			segments[i] = "{$}"
		}
	}
	return strings.Join(segments, "/")
}

// guarded is a guard of the contract as a config.
func guarded(g httpcontract.Guard) nethttp.Config {
	return nethttp.Config{
		Stack: g.Stack, Skipper: g.Skip, Identify: g.Identify, Tiers: g.Tiers, Classify: g.Classify, CountProbes: g.CountProbes, LongLived: g.LongLived,
		Headers: g.Headers, DenyHandler: g.Deny, ErrorHandler: g.Error, Logger: g.Logger,
	}
}
