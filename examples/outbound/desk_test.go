package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// transport stands for the network, of which synctest has none.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// store is one in memory that may be down. Then it still does what it is asked, or does not, and says neither.
type store struct {
	seawall.Store
	mu     sync.Mutex
	down   bool
	doesIt bool
	spends int // that it was asked for while it was down
	peeks  int
}

func (s *store) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.down {
		return s.Store.Apply(ctx, dst, checks)
	}
	if checks[0].Op == seawall.Peek {
		s.peeks++
	} else {
		s.spends++
	}
	if s.doesIt {
		if _, err := s.Store.Apply(ctx, nil, checks); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the store is down")
}

// set takes the store down, or up again.
func (s *store) set(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// desk is a client on a store in memory whose clock is the test's, and the day's budget to look at.
type desk struct {
	*client
	store *store
	url   string
	day   *ratelimit.Budget
	sent  []time.Time
}

func newDesk(t *testing.T, o options, answer transport) *desk {
	t.Helper()
	var err error
	o.zone, err = time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	store := &store{Store: memstore.New(memstore.Config{Now: time.Now})}
	budget, err := newBudget(store, o.daily(), o.speed())
	require.NoError(t, err)
	day, err := newBudget(store, o.daily())
	require.NoError(t, err)
	d := &desk{store: store, client: newClient(budget, account(), o.zone), url: "http://video.test", day: day}
	d.http.Transport = transport(func(r *http.Request) (*http.Response, error) {
		d.sent = append(d.sent, time.Now().In(d.zone))
		return answer(r)
	})
	return d
}

func status(code int, header ...string) *http.Response {
	resp := &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody}
	for i := 0; i < len(header); i += 2 {
		resp.Header.Set(header[i], header[i+1])
	}
	return resp
}

func ok(*http.Request) (*http.Response, error) { return status(http.StatusOK), nil }

// ask makes a call and returns the status of its answer. ctx bounds how long it waits for the budget.
func (d *desk) ask(ctx context.Context, operation string) (code int, err error) {
	req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, d.url+operation, http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := d.do(ctx, operation, req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func (d *desk) left(t *testing.T) int64 {
	t.Helper()
	a, err := d.day.Peek(t.Context(), &seawall.Request{Key: account()})
	require.NoError(t, err)
	return a.Remaining
}
