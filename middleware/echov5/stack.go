package echov5

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v5"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/guard"
)

// StackConfig configures Stack.
type StackConfig struct {
	Config
	// Stack are the layers. Required.
	Stack *seawall.Stack
}

// DefaultStackConfig is what Stack uses.
var DefaultStackConfig = StackConfig{Config: Config{Skipper: SkipHealthProbes}} //nolint:gochecknoglobals // Echo's idiom

// Stack mounts all the layers of s. It panics if s is nil, since it would protect nothing.
func Stack(s *seawall.Stack) echo.MiddlewareFunc {
	cfg := DefaultStackConfig
	cfg.Stack = s
	return StackWithConfig(cfg)
}

// StackWithConfig mounts the layers of a stack as the config says. It panics where ToMiddleware returns an error.
func StackWithConfig(cfg StackConfig) echo.MiddlewareFunc { return must(cfg.ToMiddleware()) }

// must is for the short forms, which panic as Echo's do.
func must(mw echo.MiddlewareFunc, err error) echo.MiddlewareFunc {
	if err != nil {
		panic(err)
	}
	return mw
}

// ToMiddleware returns the middleware. A missing stack or a route that could never match is an error.
func (cfg StackConfig) ToMiddleware() (echo.MiddlewareFunc, error) {
	g, err := cfg.guard(cfg.Stack)
	if err != nil {
		return nil, fmt.Errorf("echov5: %w", err)
	}
	if cfg.Skipper == nil {
		cfg.Skipper = SkipHealthProbes
	}
	if cfg.DenyHandler == nil {
		cfg.DenyHandler = Deny
	}
	if cfg.ErrorHandler == nil {
		cfg.ErrorHandler = unidentified
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			if cfg.Skipper(c) {
				return next(c)
			}
			return cfg.serve(g, c, next)
		}
	}, nil
}

// call is one request in Echo's terms, on its passage.
type call struct {
	guard.Passage
	c *echo.Context
}

func (p *call) Request() *http.Request        { return p.c.Request() }
func (p *call) Response() http.ResponseWriter { return p.c.Response() }
func (p *call) Route() string                 { return p.c.Path() }
func (p *call) Address() string               { return p.c.RealIP() }
func (p *call) Get(name string) any           { return p.c.Get(name) }

// requestKey is where the context keeps what earlier Seawall middlewares of the same request made of it.
const requestKey = "seawall.request"

func (cfg *Config) serve(g *guard.Guard, c *echo.Context, next echo.HandlerFunc) error {
	if e := c.Echo(); e != nil && e.IPExtractor == nil {
		g.Untrusting(c.Request().Header, "set Echo.IPExtractor, for example to echo.ExtractIPFromXFFHeader()")
	}
	p := &call{c: c}
	earlier, _ := c.Get(requestKey).(*seawall.Request)
	refusal, err := g.Enter(&p.Passage, p, earlier)
	if err != nil {
		return cfg.ErrorHandler(c, err)
	}
	defer p.Done()
	c.Set(requestKey, p.Passage.Request())
	if refusal != nil {
		return cfg.DenyHandler(c, refusal)
	}
	if p.Passage.Request().LongLived {
		before := c.Response()
		held := p.Hold(before)
		c.SetResponse(held)
		defer func() { // what an inner middleware has left in place is left alone
			if c.Response() == held {
				c.SetResponse(before)
			}
		}()
	}
	return next(c)
}
