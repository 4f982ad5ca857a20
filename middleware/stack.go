package middleware

import (
	"github.com/labstack/echo/v4"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/workershed"
)

// requestKey is where the context keeps what earlier Seawall middlewares of the same request made of it.
const requestKey = "seawall.request"

// Stack mounts all the layers of s. It panics if there is none, since it would protect nothing.
func Stack(s *seawall.Stack, cfg Config) echo.MiddlewareFunc {
	if s == nil {
		panic("middleware: the Stack is nil; want one from seawall.New")
	}
	cfg = cfg.withDefaults()
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if cfg.Skipper(c) {
				return next(c)
			}
			r, err := cfg.request(c)
			if err != nil {
				return err
			}
			ctx := c.Request().Context()
			a := s.Admit(ctx, r)
			if r.LongLived {
				defer keep(ctx, a, c)()
			} else {
				defer a.Done(ctx)
			}
			d := a.Decision()
			if !d.Denied {
				setQuota(c.Response().Header(), a, 0)
				return next(c)
			}
			refusal := &Refusal{Decision: d, RetryAfter: seconds(d)}
			setQuota(c.Response().Header(), a, refusal.RetryAfter)
			return deny(c, refusal)
		}
	}
}

// request builds what the layers know of the request.
func (cfg *Config) request(c echo.Context) (*seawall.Request, error) {
	r := &seawall.Request{Tier: cfg.Classify(c), Route: c.Path(), LongLived: cfg.LongLived(c)}
	if err := cfg.Identify(c, r); err != nil {
		return nil, err
	}
	if earlier, ok := c.Get(requestKey).(*seawall.Request); ok {
		r.Continue(earlier)
	}
	c.Set(requestKey, r)
	return r, nil
}

// RateLimit mounts a rate limiter alone; sc says with which store.
func RateLimit(l *ratelimit.Limiter, sc seawall.Config, cfg Config) (echo.MiddlewareFunc, error) {
	return alone(l, sc, cfg)
}

// Concurrency mounts an in-flight cap alone; sc says with which store.
func Concurrency(l *concurrency.Limiter, sc seawall.Config, cfg Config) (echo.MiddlewareFunc, error) {
	return alone(l, sc, cfg)
}

// FleetShed mounts a fleet shedder alone; sc says with which store.
func FleetShed(l *fleetshed.Shedder, sc seawall.Config, cfg Config) (echo.MiddlewareFunc, error) {
	return alone(l, sc, cfg)
}

// WorkerShed mounts a worker shedder alone; it needs no store.
func WorkerShed(l *workershed.Shedder, sc seawall.Config, cfg Config) (echo.MiddlewareFunc, error) {
	return alone(l, sc, cfg)
}

func alone(l seawall.Layer, sc seawall.Config, cfg Config) (echo.MiddlewareFunc, error) {
	s, err := seawall.New(sc, l)
	if err != nil {
		return nil, err
	}
	return Stack(s, cfg), nil
}
