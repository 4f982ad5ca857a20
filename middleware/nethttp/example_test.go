package nethttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/nethttp"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

func Example() {
	store := memstore.New(memstore.Config{})
	limiter, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(1), 2)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	layers, err := seawall.New(seawall.Config{Store: store}, limiter)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/charges/{id}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, r.PathValue("id")) })
	seawalled, err := nethttp.Config{Stack: layers, Route: nethttp.MuxRoute(mux)}.ToMiddleware()
	if err != nil {
		log.Fatal(err)
	}
	handler := seawalled(mux) // for http.Server

	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/charges/4711", http.NoBody))
		fmt.Println(w.Code, w.Header()["Ratelimit-Policy"], w.Header().Get("Content-Type"))
	}
	if err := store.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 200 ["api";q=2;w=120] text/plain; charset=utf-8
	// 200 ["api";q=2;w=120] text/plain; charset=utf-8
	// 429 ["api";q=2;w=120] application/problem+json
}
