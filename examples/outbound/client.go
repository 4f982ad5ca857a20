package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

const (
	// callTimeout bounds a call. It is longer than dialTimeout, so that a provider who does not take calls is
	// known not to have been reached.
	callTimeout = 5 * time.Second
	dialTimeout = 2 * time.Second
)

// client makes calls that the budget has paid for. A call is sent once, or not at all, so that the provider
// never counts more than was paid. It is safe for concurrent use.
type client struct {
	http    *http.Client
	budget  *ratelimit.Budget
	account seawall.Key    // whose budget
	zone    *time.Location // where its day ends at midnight
	resume  atomic.Int64   // when the provider wants to be asked again, in Unix nanoseconds
}

func newClient(budget *ratelimit.Budget, account seawall.Key, zone *time.Location) *client {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		DisableKeepAlives:   true, // if a kept connection breaks, net/http sends a GET again, which nobody paid for
	}
	return &client{budget: budget, account: account, zone: zone, http: &http.Client{
		Transport:     transport,
		Timeout:       callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // nor for a second call
	}}
}

// do pays for a call, as soon as the budget admits it, and makes it. The operation is what the price list calls
// it. ctx bounds how long it waits for the budget, req's context the rest. It returns an *unpaidError if the budget
// did not admit the call, or could not be asked.
func (c *client) do(ctx context.Context, operation string, req *http.Request) (*http.Response, error) {
	paid, err := c.pay(ctx, operation, req)
	if err != nil {
		return nil, &unpaidError{err}
	}
	resp, err := c.http.Do(req)
	switch {
	case notReached(err):
		if lost := c.budget.Refund(req.Context(), paid); lost != nil {
			return nil, &unpaidError{errors.Join(err, lost)}
		}
		return nil, err
	case err != nil:
		return nil, err // the provider may have counted it, so it stays paid
	}
	c.heed(resp) // a 429 stays paid too; refund it if your provider does not count them
	return resp, nil
}

// pay spends what the call costs, as soon as the provider takes calls and the budget admits this one. By the time
// that it does, the provider may take none again; then the call is paid for later.
func (c *client) pay(ctx context.Context, operation string, req *http.Request) (*ratelimit.Answer, error) {
	for {
		if err := sleep(req.Context(), c.quiet(time.Now())); err != nil {
			return nil, err
		}
		paid, err := c.budget.Wait(ctx, &seawall.Request{Key: c.account, Route: operation})
		if err != nil || c.quiet(time.Now()) <= 0 {
			return paid, err
		}
		if err := c.budget.Refund(ctx, paid); err != nil {
			return nil, err
		}
	}
}

// notReached tells whether a call certainly did not get to the provider.
func notReached(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// unpaidError is why nothing was sent. If the store failed, it may have been paid for all the same.
type unpaidError struct{ err error }

func (e *unpaidError) Error() string { return fmt.Sprintf("not sent: %v", e.err) }

// Unwrap returns the budget's error, or the context's.
func (e *unpaidError) Unwrap() error { return e.err }
