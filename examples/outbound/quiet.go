package main

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

const (
	// eve is how long before midnight the last call is sent. The provider counts one that arrives after midnight
	// to a day that did not pay for it. A second is for clocks that differ.
	eve = callTimeout + time.Second
	// breather is how long a provider is left alone who wants that, but does not say how long.
	breather = time.Second
	// longestQuiet bounds what a provider may ask for: by then there is a new budget.
	longestQuiet = 24 * time.Hour
)

// quiet returns how long no call may be sent: the provider said so, or its day is about to end.
func (c *client) quiet(now time.Time) time.Duration {
	quiet := time.Unix(0, c.resume.Load()).Sub(now)
	if left := midnight(now.In(c.zone)).Sub(now); left <= eve {
		quiet = max(quiet, left)
	}
	return quiet
}

// midnight returns the one that ends the day of t, in t's time zone.
func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location())
}

// heed remembers when the provider wants to be asked again, if it does not want to be now. The latest time that
// it gave counts.
func (c *client) heed(resp *http.Response) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return
	}
	now := time.Now()
	at := now.Add(retryAfter(resp.Header.Get("Retry-After"), now)).UnixNano()
	for before := c.resume.Load(); before < at; before = c.resume.Load() {
		if c.resume.CompareAndSwap(before, at) {
			return
		}
	}
}

// retryAfter reads the header of that name, which is in seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, longestQuiet)
	}
	if date, err := http.ParseTime(header); err == nil {
		return min(max(0, date.Sub(now)), longestQuiet)
	}
	return breather
}

// sleep returns after d, or ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
