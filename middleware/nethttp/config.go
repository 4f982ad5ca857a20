package nethttp

import (
	"log/slog"
	"net/http"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Config says how requests become seawall.Requests. The zero Config works, but for Stack: callers are client addresses,
// tiers go by method, and health probes are skipped.
type Config struct {
	// Stack are the layers. Required.
	Stack *seawall.Stack
	// Skipper exempts requests, besides health probes; nil exempts none.
	Skipper func(r *http.Request) bool
	// CountProbes has Kubernetes' health probes limited as well: GET and HEAD of routes /healthz, /livez and /readyz. A probe
	// that is refused has an instance taken away just when it is needed.
	CountProbes bool
	// Route is the pattern of the route that a request matches, without method, such as "/v1/users/:id", and "" if it
	// matches none. Nil is MuxRoute of the handler that is wrapped, if that is a ServeMux, and otherwise that of
	// Request.Pattern, which a ServeMux sets before it calls a handler. With something else between Seawall and the mux, use
	// MuxRoute; other routers have ways of their own. It must not be the path, of which there are as many as clients like.
	Route func(r *http.Request) string
	// ClientAddress is the client's address; nil is the socket's peer. Behind proxies use TrustProxies, or all clients are
	// one.
	ClientAddress func(r *http.Request) string
	// Identify says who asks; nil is identity.Hasher.ByAddress by the secret that the stack's store shares.
	Identify identity.Identify
	// Tiers says how important the requests of a route are, by "METHOD /pattern", such as "POST /v1/charges"; the method "*"
	// is all others. What is not in it goes by method: GET, HEAD and OPTIONS are reads, everything else is a write. HEAD goes
	// as GET of the same route.
	Tiers map[string]seawall.Tier
	// Classify may change what Tiers or the method says, for what a table cannot tell; nil leaves it. It must not ask a
	// header that any client can send. A key of test mode counts, whatever it says.
	Classify func(r *http.Request, tier seawall.Tier) seawall.Tier
	// LongLived are the routes, "METHOD /pattern", whose requests last as long as their client likes, such as WebSockets
	// and streams of events; see guard.Config.
	LongLived []string
	// Headers says how clients are told what is left; zero is guard.Draft11.
	Headers guard.Headers
	// DenyHandler answers refused requests; nil is Deny, which also does if it writes nothing. The headers are set, save for
	// the Content-Type; the status is the refusal's unless it writes another one.
	DenyHandler func(w http.ResponseWriter, r *http.Request, refusal *guard.Refusal)
	// ErrorHandler answers requests that Identify has returned an error for; nil answers with the status of an
	// identity.Error, and other errors with 500 and without their text.
	ErrorHandler func(w http.ResponseWriter, r *http.Request, err error)
	// Logger is told what is misconfigured; nil is slog.Default().
	Logger *slog.Logger
}

func (cfg Config) withDefaults() Config {
	if cfg.Skipper == nil {
		cfg.Skipper = func(*http.Request) bool { return false }
	}
	if cfg.DenyHandler == nil {
		cfg.DenyHandler = Deny
	}
	if cfg.ErrorHandler == nil {
		cfg.ErrorHandler = unidentified
	}
	return cfg
}
