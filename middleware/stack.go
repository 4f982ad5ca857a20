package middleware

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"

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
var DefaultStackConfig = StackConfig{Config: Config{Skipper: echomw.DefaultSkipper}} //nolint:gochecknoglobals // Echo's idiom

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
		return nil, fmt.Errorf("middleware: %w", err)
	}
	if cfg.Skipper == nil {
		cfg.Skipper = echomw.DefaultSkipper
	}
	if cfg.DenyHandler == nil {
		cfg.DenyHandler = Deny
	}
	if cfg.ErrorHandler == nil {
		cfg.ErrorHandler = unidentified
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if !cfg.CountProbes && guard.HealthProbe(c.Request().Method, c.Path()) || cfg.Skipper(c) {
				return next(c)
			}
			return cfg.serve(g, c, next)
		}
	}, nil
}

// call is one request in Echo's terms, on its passage.
type call struct {
	guard.Passage
	c echo.Context
}

func (p *call) Request() *http.Request        { return p.c.Request() }
func (p *call) Response() http.ResponseWriter { return p.c.Response() }
func (p *call) Route() string                 { return p.c.Path() }
func (p *call) Address() string               { return p.c.RealIP() }
func (p *call) Get(name string) any           { return p.c.Get(name) }

func (cfg *Config) serve(g *guard.Guard, c echo.Context, next echo.HandlerFunc) error {
	if e := c.Echo(); e != nil {
		if e.IPExtractor == nil {
			g.Untrusting(c.Request().Header, "set Echo.IPExtractor, for example to echo.ExtractIPFromXFFHeader()")
		}
		g.Registered(registered(e))
	}
	p := &call{c: c}
	defer p.Done()
	g.Receive(&p.Passage, c.Request(), c.Path())
	c.SetRequest(p.Inside(c.Request()))
	switch refusal, err := g.Enter(&p.Passage, p); {
	case err != nil:
		return answered(c, cfg.ErrorHandler(c, err), func() error { return unidentified(c, err) })
	case refusal != nil:
		return answered(c, cfg.DenyHandler(c, refusal), func() error { return Deny(c, refusal) })
	}
	if p.Lives() {
		before := c.Response().Writer
		held := p.Hold(before)
		c.Response().Writer = held
		defer func() { // behind Echo's Timeout the context may be another request's by now, with a writer of its own
			if c.Response().Writer == held {
				c.Response().Writer = before
			}
		}()
	}
	return next(c)
}

// answered is what a handler of the application's returned; if it has not answered either, what otherwise does.
func answered(c echo.Context, err error, otherwise func() error) error {
	if err == nil && !c.Response().Committed {
		return otherwise()
	}
	return err
}

// registered tells which routes there are; "*" is any method.
func registered(e *echo.Echo) func(method, pattern string) bool {
	return func(method, pattern string) bool {
		routes := e.Routes()
		for _, router := range e.Routers() {
			routes = append(routes, router.Routes()...)
		}
		return slices.ContainsFunc(routes, func(r *echo.Route) bool {
			return r.Path == pattern && (method == r.Method || method == "*")
		})
	}
}
