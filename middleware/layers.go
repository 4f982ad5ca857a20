package middleware

import (
	"fmt"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/workershed"
)

// LayerConfig configures the middleware of one layer.
type LayerConfig[L seawall.Layer] struct {
	Config
	// Layer is the limiter. Required.
	Layer L
	// Engine says what it works with: its Store is required, save for a worker shedder.
	Engine seawall.Config
}

// RateLimitConfig configures RateLimit.
type RateLimitConfig = LayerConfig[*ratelimit.Limiter]

// ConcurrencyConfig configures Concurrency.
type ConcurrencyConfig = LayerConfig[*concurrency.Limiter]

// FleetShedConfig configures FleetShed.
type FleetShedConfig = LayerConfig[*fleetshed.Shedder]

// WorkerShedConfig configures WorkerShed.
type WorkerShedConfig = LayerConfig[*workershed.Shedder]

// What RateLimit, Concurrency, FleetShed and WorkerShed use.
var ( //nolint:gochecknoglobals // Echo's idiom
	DefaultRateLimitConfig   = RateLimitConfig{Config: Config{Skipper: echomw.DefaultSkipper}}
	DefaultConcurrencyConfig = ConcurrencyConfig{Config: Config{Skipper: echomw.DefaultSkipper}}
	DefaultFleetShedConfig   = FleetShedConfig{Config: Config{Skipper: echomw.DefaultSkipper}}
	DefaultWorkerShedConfig  = WorkerShedConfig{Config: Config{Skipper: echomw.DefaultSkipper}}
)

// ToMiddleware returns the middleware. A missing layer or store, or a route that could never match, is an error.
func (cfg LayerConfig[L]) ToMiddleware() (echo.MiddlewareFunc, error) {
	s, err := seawall.New(cfg.Engine, cfg.Layer)
	if err != nil {
		return nil, fmt.Errorf("middleware: %w", err)
	}
	return StackConfig{Config: cfg.Config, Stack: s}.ToMiddleware()
}

// alone is the middleware of one layer on a store.
func (cfg LayerConfig[L]) alone(layer L, store seawall.Store) echo.MiddlewareFunc {
	cfg.Layer, cfg.Engine.Store = layer, store
	return must(cfg.ToMiddleware())
}

// RateLimit mounts a rate limiter alone. It panics if something is missing.
func RateLimit(l *ratelimit.Limiter, store seawall.Store) echo.MiddlewareFunc {
	return DefaultRateLimitConfig.alone(l, store)
}

// RateLimitWithConfig mounts a rate limiter alone. It panics where ToMiddleware returns an error.
func RateLimitWithConfig(cfg RateLimitConfig) echo.MiddlewareFunc { return must(cfg.ToMiddleware()) }

// Concurrency mounts an in-flight cap alone. It panics if something is missing.
func Concurrency(l *concurrency.Limiter, store seawall.Store) echo.MiddlewareFunc {
	return DefaultConcurrencyConfig.alone(l, store)
}

// ConcurrencyWithConfig mounts an in-flight cap alone. It panics where ToMiddleware returns an error.
func ConcurrencyWithConfig(cfg ConcurrencyConfig) echo.MiddlewareFunc {
	return must(cfg.ToMiddleware())
}

// FleetShed mounts a fleet shedder alone. It panics if something is missing.
func FleetShed(l *fleetshed.Shedder, store seawall.Store) echo.MiddlewareFunc {
	return DefaultFleetShedConfig.alone(l, store)
}

// FleetShedWithConfig mounts a fleet shedder alone. It panics where ToMiddleware returns an error.
func FleetShedWithConfig(cfg FleetShedConfig) echo.MiddlewareFunc { return must(cfg.ToMiddleware()) }

// WorkerShed mounts a worker shedder alone, which needs no store. It panics if it is nil.
func WorkerShed(l *workershed.Shedder) echo.MiddlewareFunc {
	return DefaultWorkerShedConfig.alone(l, nil)
}

// WorkerShedWithConfig mounts a worker shedder alone. It panics where ToMiddleware returns an error.
func WorkerShedWithConfig(cfg WorkerShedConfig) echo.MiddlewareFunc { return must(cfg.ToMiddleware()) }
