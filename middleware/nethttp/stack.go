package nethttp

import (
	"context"
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
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if cfg.Skipper(r) {
				next.ServeHTTP(w, r)
				return
			}
			cfg.serve(g, w, r, next)
		})
	}, nil
}

// call is one request in net/http's terms, on its passage.
type call struct {
	guard.Passage
	cfg *Config
	w   http.ResponseWriter
	r   *http.Request
}

func (p *call) Request() *http.Request        { return p.r }
func (p *call) Response() http.ResponseWriter { return p.w }
func (p *call) Route() string                 { return p.cfg.Route(p.r) }
func (p *call) Get(name string) any           { return p.r.Context().Value(name) }

func (p *call) Address() string {
	if p.cfg.ClientAddress != nil {
		return p.cfg.ClientAddress(p.r)
	}
	return p.r.RemoteAddr
}

// requestKey is where the context keeps what earlier Seawall middlewares of the same request made of it.
type requestKey struct{}

func (cfg *Config) serve(g *guard.Guard, w http.ResponseWriter, r *http.Request, next http.Handler) {
	if cfg.ClientAddress == nil {
		g.Untrusting(r.Header, "set Config.ClientAddress, for example to nethttp.TrustProxies(…)")
	}
	p := &call{cfg: cfg, w: w, r: r}
	earlier, _ := r.Context().Value(requestKey{}).(*seawall.Request)
	refusal, err := g.Enter(&p.Passage, p, earlier)
	if err != nil {
		cfg.ErrorHandler(w, r, err)
		return
	}
	defer p.Done()
	if refusal != nil {
		cfg.DenyHandler(w, r, refusal)
		return
	}
	inner := r.WithContext(context.WithValue(r.Context(), requestKey{}, p.Passage.Request()))
	next.ServeHTTP(p.Hold(w), inner)
}
