package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheDayEndsAtMidnightPacific spends a day's budget and waits for the next, also where a day is longer or
// shorter: it is whole again at midnight, and not a second before.
func TestTheDayEndsAtMidnightPacific(t *testing.T) {
	for name, c := range map[string]struct {
		year  int
		month time.Month
		day   int
		hours time.Duration
	}{
		"an ordinary day":        {2000, time.February, 28, 24},
		"clocks are put forward": {2000, time.April, 2, 23},
		"clocks are put back":    {2000, time.October, 29, 25},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, options{units: 250, rate: 10}, ok)
				begin := time.Date(c.year, c.month, c.day, 0, 0, 0, 0, d.zone)
				end := begin.Add(c.hours * time.Hour)
				time.Sleep(time.Until(begin))
				for range 2 {
					_, err := d.ask(t.Context(), search)
					require.NoError(t, err)
				}
				time.Sleep(time.Until(end) - time.Hour)
				assert.EqualValues(t, 50, d.left(t))
				waited := make(chan error)
				go func() {
					_, err := d.ask(t.Context(), search)
					waited <- err
				}()
				time.Sleep(time.Until(end) - time.Second)
				assert.EqualValues(t, 50, d.left(t), "a second before midnight")
				require.NoError(t, <-waited)
				assert.Equal(t, end, d.sent[2], "midnight")
				assert.EqualValues(t, 150, d.left(t), "it was whole again, and one search has been paid for")
			})
		})
	}
}

// TestNoCallIsUnderWayAtMidnight asks for one just before: it would be paid for by one day and counted to the next.
func TestNoCallIsUnderWayAtMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, options{units: 1000, rate: 1}, ok)
		end := midnight(time.Now().In(d.zone))
		time.Sleep(time.Until(end) - eve - 100*time.Millisecond)
		_, err := d.ask(t.Context(), search)
		require.NoError(t, err)
		assert.Equal(t, end.Add(-eve-100*time.Millisecond), d.sent[0])
		_, err = d.ask(t.Context(), search) // the bucket admits it in a second, and that is too late
		require.NoError(t, err)
		assert.Equal(t, end, d.sent[1])
		assert.EqualValues(t, 900, d.left(t), "the new day pays")
		time.Sleep(time.Until(midnight(end)) - time.Second)
		assert.EqualValues(t, 900, d.left(t))
		_, err = d.ask(t.Context(), search)
		require.NoError(t, err)
		assert.Equal(t, midnight(end), d.sent[2])
	})
}

func TestHopeIsGivenUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, options{units: 100, rate: 10}, ok)
		time.Sleep(time.Hour)
		_, err := d.ask(t.Context(), search)
		require.NoError(t, err)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err = d.ask(ctx, list)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var unpaid *unpaidError
		require.ErrorAs(t, err, &unpaid)
		assert.Zero(t, time.Since(began))
		assert.Len(t, d.sent, 1)
	})
}

func TestWhatTheProviderAsksForIsHeeded(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		header func() string
		want   time.Duration
	}{
		"seconds":            {http.StatusTooManyRequests, func() string { return "7" }, 7 * time.Second},
		"a date":             {http.StatusTooManyRequests, func() string { return in(40 * time.Second) }, 40 * time.Second},
		"a date in the past": {http.StatusTooManyRequests, func() string { return in(-time.Hour) }, 0},
		"nothing":            {http.StatusTooManyRequests, func() string { return "" }, breather},
		"nonsense":           {http.StatusTooManyRequests, func() string { return "-5 minutes" }, breather},
		"for ever":           {http.StatusTooManyRequests, func() string { return "2000000000" }, longestQuiet},
		"out of service":     {http.StatusServiceUnavailable, func() string { return "3" }, 3 * time.Second},
		"another error":      {http.StatusNotFound, func() string { return "3" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, options{units: 1000, rate: 1000}, func(*http.Request) (*http.Response, error) {
					return status(c.code, "Retry-After", c.header()), nil
				})
				began := time.Now()
				code, err := d.ask(t.Context(), search)
				require.NoError(t, err)
				assert.Equal(t, c.code, code, "whether to try again is its caller's business")
				assert.EqualValues(t, 900, d.left(t), "it may have counted")
				_, err = d.ask(t.Context(), search)
				require.NoError(t, err)
				assert.Equal(t, c.want, d.sent[1].Sub(began))
			})
		})
	}
}

func in(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }

func TestOnlyWhatCertainlyWasNotSentIsRefunded(t *testing.T) {
	for name, c := range map[string]struct {
		answer transport
		left   int64
	}{
		"not reached": {func(*http.Request) (*http.Response, error) { return nil, unreachable() }, 1000},
		"broken off": {func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "read", Err: errors.New("connection reset")}
		}, 900},
		"no answer in time": {func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, 900},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, options{units: 1000, rate: 10}, c.answer)
				_, err := d.ask(t.Context(), search)
				require.Error(t, err)
				assert.Equal(t, c.left, d.left(t))
			})
		})
	}
}

func unreachable() error { return &net.OpError{Op: "dial", Err: errors.New("nobody there")} }

// TestACallIsSentOnce has the provider break connections and redirect: net/http would try again by itself.
func TestACallIsSentOnce(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := calls.Add(1); {
		case r.URL.Path == list:
			http.Redirect(w, r, search, http.StatusFound)
		case n > 1: // on a connection that was kept, a client takes that for its end
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	d := newDesk(t, options{units: 1000, rate: 1000}, nil)
	d.client, d.url = newClient(d.budget, d.account, d.zone), server.URL
	_, err := d.ask(t.Context(), search)
	require.NoError(t, err)
	_, err = d.ask(t.Context(), search)
	require.Error(t, err)
	assert.EqualValues(t, 2, calls.Load())
	code, err := d.ask(t.Context(), list)
	require.NoError(t, err)
	assert.Equal(t, http.StatusFound, code)
	assert.EqualValues(t, 3, calls.Load())
	assert.EqualValues(t, 1000-2*100-1, d.left(t))
}
