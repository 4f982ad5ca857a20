package echov5

import (
	"log/slog"

	"github.com/labstack/echo/v5"
	echomw "github.com/labstack/echo/v5/middleware"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Config is what all the middlewares have in common. The zero Config works: callers are client addresses, tiers go by
// method, and health probes are skipped.
type Config struct {
	// Skipper exempts requests, besides health probes; nil exempts none.
	Skipper echomw.Skipper
	// CountProbes has Kubernetes' health probes limited as well: GET and HEAD of registered routes /healthz, /livez and
	// /readyz. A probe that is refused has an instance taken away just when it is needed.
	CountProbes bool
	// Identify says who asks; nil is identity.Hasher.ByAddress by the secret that the stack's store shares. The address is
	// Echo's RealIP: behind a proxy, set Echo.IPExtractor, or all clients are one.
	Identify identity.Identify
	// Tiers says how important the requests of a route are, by "METHOD /pattern" as registered with Echo, such as
	// "POST /v1/charges"; the method "*" is all others. What is not in it goes by method: GET, HEAD and OPTIONS are reads,
	// everything else is a write. HEAD goes as GET of the same route.
	Tiers map[string]seawall.Tier
	// Classify may change what Tiers or the method says, for what a table cannot tell; nil leaves it. It must not ask a
	// header that any client can send. A key of test mode counts, whatever it says.
	Classify func(c *echo.Context, tier seawall.Tier) seawall.Tier
	// LongLived are the routes, "METHOD /pattern", whose requests last as long as their client likes, such as WebSockets
	// and streams of events; see guard.Config.
	LongLived []string
	// Headers says how clients are told what is left; zero is guard.Draft11.
	Headers guard.Headers
	// DenyHandler answers refused requests; nil is Deny. It may return an error, for Echo's error handler, or write the
	// answer and return nil; if it does neither, Deny does. The headers are set, save for the Content-Type.
	DenyHandler func(c *echo.Context, refusal *guard.Refusal) error
	// ErrorHandler answers requests that Identify has returned an error for; nil returns an error that renders as
	// Deny's does for an identity.Error, and other errors as they are.
	ErrorHandler func(c *echo.Context, err error) error
	// Logger is told what is misconfigured; nil is slog.Default().
	Logger *slog.Logger
}

// EchoContext returns Echo's context of a call, for an Identify that needs more of it than identity.Call has, such as a
// parameter of the path. It is nil for calls of other adapters.
func EchoContext(c identity.Call) *echo.Context {
	if own, ok := c.(*call); ok {
		return own.c
	}
	return nil
}

// guard returns what decides, with the hooks in terms of calls.
func (cfg *Config) guard(s *seawall.Stack) (*guard.Guard, error) {
	neutral := guard.Config{
		Identify: cfg.Identify, Tiers: cfg.Tiers, LongLived: cfg.LongLived, Headers: cfg.Headers, Logger: cfg.Logger,
	}
	if classify := cfg.Classify; classify != nil {
		neutral.Classify = func(c identity.Call, tier seawall.Tier) seawall.Tier { return classify(EchoContext(c), tier) }
	}
	return guard.New(s, neutral)
}
