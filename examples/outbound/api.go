package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// apiWork is how long the built-in API takes for a call.
const apiWork = 5 * time.Millisecond

// api stands for the provider, for want of a real one. It refuses nothing, and counts what it would charge.
type api struct{ calls, units atomic.Int64 }

// ServeHTTP implements http.Handler. A call counts when it arrives, whatever becomes of its caller.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.calls.Add(1)
	a.units.Add(price(r.URL.Path))
	time.Sleep(apiWork)
	fmt.Fprintln(w, `{"items":[]}`)
}

// serve serves the API on this machine, and returns its URL and what ends it.
func (a *api) serve(ctx context.Context) (url string, end func() error, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("the built-in API: %w", err)
	}
	server := &http.Server{Handler: a, ReadHeaderTimeout: callTimeout}
	go func() { _ = server.Serve(listener) }() // returns when it is closed
	return "http://" + listener.Addr().String(), server.Close, nil
}
