package middleware_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// Logins are limited by account and address together, and by address alone: an attacker can neither lock out somebody who
// logs in from elsewhere, nor try one password on many accounts.
func Example_login() {
	store := memstore.New(memstore.Config{})
	defer store.Close(context.Background())
	logins := []string{"/login"}
	limits, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(5), 2), Routes: logins, Key: identity.LoginPair, OnFailure: seawall.FailClosed},
		{Name: "login-address", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(60), 20), Routes: logins, Key: identity.LoginAddress},
	}})
	if err != nil {
		panic(err)
	}
	hasher, err := identity.NewHasher(identity.Config{Secret: []byte("at least 32 bytes of a random text")})
	if err != nil {
		panic(err)
	}
	identify, err := hasher.WithLogin(hasher.ByAddress(), identity.Login{Routes: logins})
	if err != nil {
		panic(err)
	}
	stack, err := seawall.New(seawall.Config{Store: store}, limits)
	if err != nil {
		panic(err)
	}
	e := echo.New()
	e.Use(middleware.StackWithConfig(middleware.StackConfig{Stack: stack, Config: middleware.Config{Identify: identify}}))
	e.POST("/login", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })

	for _, account := range []string{"alice", "Alice ", "ＡＬＩＣＥ", "bob"} {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(`{"account":"`+account+`"}`)))
		fmt.Println(account, w.Code)
	}
	// Output:
	// alice 204
	// Alice  204
	// ＡＬＩＣＥ 429
	// bob 204
}

// Behind CORS a preflight is answered before it is counted, and scripts may read what a refusal says.
func Example_cors() {
	store := memstore.New(memstore.Config{})
	defer store.Close(context.Background())
	limits, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(1), 1)},
	}})
	if err != nil {
		panic(err)
	}
	e := echo.New()
	e.Use(echomw.CORSWithConfig(echomw.CORSConfig{
		AllowOrigins:  []string{"https://app.example"},
		ExposeHeaders: guard.Draft11.Names(),
		MaxAge:        600, // a browser asks once in ten minutes
	}))
	e.Use(middleware.RateLimit(limits, store))
	e.PUT("/", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })

	for _, method := range []string{http.MethodOptions, http.MethodOptions, http.MethodPut, http.MethodPut} {
		r := httptest.NewRequest(method, "/", http.NoBody)
		r.Header.Set("Origin", "https://app.example")
		r.Header.Set("Access-Control-Request-Method", "PUT")
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		fmt.Printf("%s %d exposes %q\n", method, w.Code, w.Header().Get("Access-Control-Expose-Headers"))
	}
	// Output:
	// OPTIONS 204 exposes ""
	// OPTIONS 204 exposes ""
	// PUT 204 exposes "RateLimit-Policy,RateLimit,Retry-After"
	// PUT 429 exposes "RateLimit-Policy,RateLimit,Retry-After"
}
