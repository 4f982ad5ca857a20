package nethttp

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Stack mounts all the layers of s. It panics if s is nil, since it would protect nothing.
func Stack(s *seawall.Stack) func(http.Handler) http.Handler {
	return StackWithConfig(Config{Stack: s})
}

// StackWithConfig mounts the layers of a stack as the config says. It panics where ToMiddleware returns an error.
func StackWithConfig(cfg Config) func(http.Handler) http.Handler {
	mw, err := cfg.ToMiddleware()
	if err != nil {
		panic(err)
	}
	return mw
}

// ToMiddleware returns the middleware. A missing stack or a route that could never match is an error.
func (cfg Config) ToMiddleware() (func(http.Handler) http.Handler, error) {
	neutral := guard.Config{
		Identify: cfg.Identify, Tiers: cfg.Tiers, LongLived: cfg.LongLived, Headers: cfg.Headers, Logger: cfg.Logger,
	}
	if classify := cfg.Classify; classify != nil {
		neutral.Classify = func(c identity.Call, tier seawall.Tier) seawall.Tier { return classify(c.Request(), tier) }
	}
	g, err := guard.New(cfg.Stack, neutral)
	if err != nil {
		return nil, fmt.Errorf("nethttp: %w", err)
	}
	cfg = cfg.withDefaults()
	return func(next http.Handler) http.Handler {
		cfg := cfg
		if cfg.Route == nil {
			cfg.Route = matched()
			if mux, ok := next.(*http.ServeMux); ok {
				cfg.Route = MuxRoute(mux)
			}
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			route := cfg.Route(r)
			if !cfg.CountProbes && guard.HealthProbe(r.Method, route) || cfg.Skipper(r) {
				next.ServeHTTP(w, r)
				return
			}
			cfg.serve(g, &call{cfg: &cfg, w: w, r: r, route: route}, next)
		})
	}, nil
}

// call is one request in net/http's terms, on its passage.
type call struct {
	guard.Passage
	cfg   *Config
	w     http.ResponseWriter
	r     *http.Request
	route string
}

func (p *call) Request() *http.Request        { return p.r }
func (p *call) Response() http.ResponseWriter { return p.w }
func (p *call) Route() string                 { return p.route }
func (p *call) Get(name string) any           { return p.r.Context().Value(name) }

func (p *call) Address() string {
	if p.cfg.ClientAddress != nil {
		return p.cfg.ClientAddress(p.r)
	}
	return p.r.RemoteAddr
}

func (cfg *Config) serve(g *guard.Guard, p *call, next http.Handler) {
	if cfg.ClientAddress == nil {
		g.Untrusting(p.r.Header, "set Config.ClientAddress, for example to what nethttp.TrustProxies returns")
	}
	defer p.Done()
	w, r := p.w, p.r
	g.Receive(&p.Passage, r, p.route)
	refusal, err := g.Enter(&p.Passage, p)
	switch {
	case err != nil:
		answer := &refusing{ResponseWriter: w, status: http.StatusInternalServerError}
		if e, ok := errors.AsType[*identity.Error](err); ok {
			answer.status = e.StatusCode()
		}
		if cfg.ErrorHandler(answer, r, err); !answer.answered {
			unidentified(w, r, err)
		}
	case refusal != nil:
		answer := &refusing{ResponseWriter: w, status: refusal.StatusCode()}
		if cfg.DenyHandler(answer, r, refusal); !answer.answered {
			Deny(w, r, refusal)
		}
	default:
		next.ServeHTTP(p.Hold(w), p.Inside(r))
	}
}
