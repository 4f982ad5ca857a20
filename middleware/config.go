package middleware

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"

	"github.com/seawall-go/seawall"
)

// Config says how HTTP requests become seawall.Requests. The zero Config works: callers are client
// addresses, tiers go by method, and nothing is skipped.
type Config struct {
	// Skipper exempts requests, such as health probes; nil exempts none.
	Skipper echomw.Skipper
	// Classify says how important a request is; nil is ByMethod.
	Classify func(c echo.Context) seawall.Tier
	// LongLived tells which requests last as long as their client likes, such as WebSockets and streams of events: see
	// Routes, and ask no header, which any client can send. They have a cap of their own (concurrency.Config) and are
	// outside the fleet's and this instance's workers. What they hold is given back when their handler has returned and a
	// connection that it has taken over is closed; of other requests, when their handler has returned. Nil is none.
	LongLived func(c echo.Context) bool
	// Identify says who asks. It fills in Key, and may fill in More, Cost and Authenticated, and lower the
	// Tier to TestMode. If it returns an error, the request is answered with it. Nil is ByAddress with a
	// Hasher without a secret.
	Identify Identify
}

func (cfg Config) withDefaults() Config {
	if cfg.Skipper == nil {
		cfg.Skipper = echomw.DefaultSkipper
	}
	if cfg.Classify == nil {
		cfg.Classify = ByMethod
	}
	if cfg.LongLived == nil {
		cfg.LongLived = func(echo.Context) bool { return false }
	}
	if cfg.Identify == nil {
		cfg.Identify = ByAddress(NewHasher(nil))
	}
	return cfg
}

// ByMethod classifies GET, HEAD and OPTIONS as reads, and everything else as writes.
func ByMethod(c echo.Context) seawall.Tier {
	switch c.Request().Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return seawall.Read
	}
	return seawall.Write
}

// ByRoute classifies by a table of "METHOD /pattern" as registered with Echo, such as "POST /v1/charges";
// what is not in it goes by method. An entry of another form is an error, since it would never match.
func ByRoute(tiers map[string]seawall.Tier) (func(c echo.Context) seawall.Tier, error) {
	table := make(map[route]seawall.Tier, len(tiers))
	for name, tier := range tiers {
		r, err := parseRoute(name)
		if err != nil {
			return nil, err
		}
		table[r] = tier
	}
	return func(c echo.Context) seawall.Tier {
		if tier, ok := table[routeOf(c)]; ok {
			return tier
		}
		return ByMethod(c)
	}, nil
}

// Routes tells whether a request's route is one of the given ones, each a "METHOD /pattern" as registered with Echo,
// such as "GET /v1/events". One of another form is an error, since it would never match.
func Routes(names ...string) (func(c echo.Context) bool, error) {
	table := make(map[route]bool, len(names))
	for _, name := range names {
		r, err := parseRoute(name)
		if err != nil {
			return nil, err
		}
		table[r] = true
	}
	return func(c echo.Context) bool { return table[routeOf(c)] }, nil
}

// route is a route as Echo has it.
type route struct{ method, pattern string }

func routeOf(c echo.Context) route { return route{c.Request().Method, c.Path()} }

func parseRoute(name string) (route, error) {
	method, pattern, _ := strings.Cut(name, " ")
	if method == "" || method != strings.ToUpper(method) || !strings.HasPrefix(pattern, "/") || strings.Contains(pattern, " ") {
		return route{}, fmt.Errorf(`middleware: route %q: want "METHOD /pattern", such as "POST /v1/charges"`, name)
	}
	return route{method, pattern}, nil
}
