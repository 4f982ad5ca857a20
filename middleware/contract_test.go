package middleware_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/httpcontract"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/guard"
)

func TestContract(t *testing.T) {
	httpcontract.Run(t, httpcontract.Adapter{
		Build: contracted, Returns: true,
		InGroup: map[string]httpcontract.Answered{
			"GET /v1/nowhere":         {Status: 404, Route: "/v1/*"},
			"DELETE /v1/charges/4711": {Status: 404, Route: "/v1/*"}, // the group's own route is for every method
		},
	})
}

// contracted builds an app of the contract in Echo.
func contracted(_ testing.TB, app httpcontract.App) (http.Handler, error) {
	e := echo.New()
	if app.Outer != nil {
		e.Use(telling(app.Outer))
	}
	if app.Recover {
		e.Use(quietRecover())
	}
	if app.Principal != nil {
		e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error {
				c.Set("principal", app.Principal(c.Request()))
				return next(c)
			}
		})
	}
	at := map[httpcontract.Mount][]echo.MiddlewareFunc{}
	for _, g := range app.Guards {
		mw, err := guarded(g).ToMiddleware()
		if err != nil {
			return nil, err
		}
		at[g.Mount] = append(at[g.Mount], mw)
	}
	e.Use(at[httpcontract.Everywhere]...)
	add := e.Add
	below := func(pattern string) (string, bool) { return pattern, false }
	if app.Group != "" {
		group := e.Group(app.Group, at[httpcontract.OnGroup]...)
		add = group.Add
		below = func(pattern string) (string, bool) { return strings.CutPrefix(pattern, app.Group) }
	}
	for _, r := range app.Routes {
		handler := func(c echo.Context) error { return r.Handler(c.Response(), c.Request()) }
		if pattern, inside := below(r.Pattern); inside {
			add(r.Method, pattern, handler, at[httpcontract.OnRoutes]...)
		} else {
			e.Add(r.Method, r.Pattern, handler, at[httpcontract.OnRoutes]...)
		}
	}
	return e, nil
}

// telling tells what a middleware sees.
func telling(told func(httpcontract.Seen)) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := next(c)
			saw := httpcontract.Seen{Status: c.Response().Status, Err: err}
			if he, ok := errors.AsType[*echo.HTTPError](err); ok {
				saw.Status = he.Code
			}
			told(saw)
			return err
		}
	}
}

// guarded is a guard of the contract as a config.
func guarded(g httpcontract.Guard) middleware.StackConfig {
	cfg := middleware.StackConfig{Stack: g.Stack, Config: middleware.Config{
		Identify: g.Identify, Tiers: g.Tiers, CountProbes: g.CountProbes, LongLived: g.LongLived, Headers: g.Headers, Logger: g.Logger,
	}}
	if g.Skip != nil {
		cfg.Skipper = func(c echo.Context) bool { return g.Skip(c.Request()) }
	}
	if g.Classify != nil {
		cfg.Classify = func(c echo.Context, tier seawall.Tier) seawall.Tier { return g.Classify(c.Request(), tier) }
	}
	if g.Deny != nil {
		cfg.DenyHandler = func(c echo.Context, refusal *guard.Refusal) error {
			g.Deny(c.Response(), c.Request(), refusal)
			return nil
		}
	}
	if g.Error != nil {
		cfg.ErrorHandler = func(c echo.Context, err error) error {
			g.Error(c.Response(), c.Request(), err)
			return nil
		}
	}
	return cfg
}
