package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Config says how HTTP requests become seawall.Requests. The zero Config works: callers are client addresses, and tiers
// go by method.
type Config struct {
	// Identify says who asks; nil is identity.Hasher.ByAddress by the secret that the stack's store shares.
	Identify identity.Identify
	// Tiers says how important the requests of a route are, by "METHOD /pattern" as registered with the router, such as
	// "POST /v1/charges". Others go by method: GET, HEAD and OPTIONS are reads, everything else is a write. HEAD goes as GET
	// of the same route.
	Tiers map[string]seawall.Tier
	// Classify may change what Tiers or the method says, for what a table cannot tell; nil leaves it. It must not ask a
	// header that any client can send. A key of test mode counts, whatever it says.
	Classify func(c identity.Call, tier seawall.Tier) seawall.Tier
	// LongLived are the routes, "METHOD /pattern", whose requests last as long as their client likes, such as WebSockets and
	// streams of events. They have a cap of their own (concurrency.Config) and are outside the fleet's and this instance's
	// workers. What they hold is given back when their handler has returned and a connection that it has taken over is
	// closed; of other requests, when their handler has returned.
	LongLived []string
	// Headers says how clients are told what is left; zero is Draft11.
	Headers Headers
	// Logger is told what is misconfigured; nil is slog.Default().
	Logger *slog.Logger
}

// Guard decides about requests. It is safe for concurrent use.
type Guard struct {
	stack     *seawall.Stack
	identify  identity.Identify
	tiers     identity.Routes[seawall.Tier]
	classify  func(c identity.Call, tier seawall.Tier) seawall.Tier
	longLived identity.Routes[bool]
	headers   Headers
	log       *slog.Logger
	warned    atomic.Bool // of a proxy
}

// New returns a Guard. A route that could never match is an error.
func New(s *seawall.Stack, cfg Config) (*Guard, error) {
	if s == nil {
		return nil, errors.New("the Stack is nil; want one from seawall.New")
	}
	if cfg.Headers > NoHeaders {
		return nil, fmt.Errorf("Config.Headers is %d; want Draft11, Draft07, XRateLimit or NoHeaders", cfg.Headers)
	}
	g := &Guard{stack: s, identify: cfg.Identify, classify: cfg.Classify, headers: cfg.Headers, log: cfg.Logger}
	if g.log == nil {
		g.log = slog.Default()
	}
	var err error
	if g.tiers, err = tiersOf(cfg.Tiers); err != nil {
		return nil, fmt.Errorf("Config.Tiers: %w", err)
	}
	if g.longLived, err = identity.RouteSet(cfg.LongLived); err != nil {
		return nil, fmt.Errorf("Config.LongLived: %w", err)
	}
	if g.identify == nil {
		h, err := identity.NewHasher(identity.Config{Shared: s, Logger: g.log})
		if err != nil {
			return nil, err
		}
		g.identify = h.ByAddress()
	}
	return g, nil
}

// Enter decides about a request and begins its passage. It sets the headers that clients are told by. Afterwards the
// handler runs, or the refusal is answered, or the error, if the request could not be identified; and then Done is
// called, in any case. earlier is what an outer Guard has made of the same HTTP request, nil if there is none.
func (g *Guard) Enter(p *Passage, c identity.Call, earlier *seawall.Request) (*Refusal, error) {
	method, route := c.Request().Method, c.Route()
	r := &seawall.Request{Tier: g.tier(method, route), Route: route}
	p.request = r
	r.LongLived, _ = g.longLived.Find(method, route)
	if g.classify != nil {
		r.Tier = g.classify(c, r.Tier)
	}
	if err := g.identify(c, r); err != nil {
		return nil, err
	}
	if earlier != nil {
		r.Continue(earlier)
	}
	p.ctx = c.Request().Context()
	p.admission = g.stack.Admit(p.ctx, r)
	refusal := refusalOf(p.admission)
	h := c.Response().Header()
	g.headers.set(h, p.admission, refusal)
	if refusal != nil {
		refusal.setHeaders(h)
	}
	return refusal, nil
}

// tier is how important a request is by its route and method.
func (g *Guard) tier(method, route string) seawall.Tier {
	if tier, ok := g.tiers.Find(method, route); ok {
		return tier
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return seawall.Read
	}
	return seawall.Write
}

// Untrusting is called by adapters where no proxy is trusted. It says so once if there seems to be one: all clients
// behind it then are one address.
func (g *Guard) Untrusting(h http.Header, whatToDo string) {
	if len(h["X-Forwarded-For"]) == 0 && len(h["Forwarded"]) == 0 && len(h["X-Real-Ip"]) == 0 {
		return
	}
	if !g.warned.Load() && g.warned.CompareAndSwap(false, true) {
		g.log.Warn("seawall: a request has come through a proxy, or says so, and no proxy is trusted: if there is one, all clients behind it count as one address",
			"do", whatToDo)
	}
}
