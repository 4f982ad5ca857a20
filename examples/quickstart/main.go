// Quickstart is an API behind all four layers, on the embedded store.
package main

import (
	"log"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/workershed"
)

func main() {
	e, err := newAPI()
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(e.Start("127.0.0.1:8081"))
}

func newAPI() (*echo.Echo, error) {
	perCaller := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(10), 20)}
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{perCaller}})
	if err != nil {
		return nil, err
	}
	inFlight, err := concurrency.New(concurrency.Config{MaxInFlight: 20})
	if err != nil {
		return nil, err
	}
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 64, Reserve: 0.2})
	if err != nil {
		return nil, err
	}
	worker, err := workershed.New(workershed.Config{Workers: 64})
	if err != nil {
		return nil, err
	}
	stack, err := seawall.New(seawall.Config{Store: memstore.New(memstore.Config{})}, rate, inFlight, fleet, worker)
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.Use(middleware.Stack(stack))
	e.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, "hello\n") })
	return e, nil
}
