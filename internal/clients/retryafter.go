package clients

import (
	"cmp"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Retry sends a request again if it was refused, 429 or 503, and told by Retry-After when to come back. A server behind
// Seawall has done nothing for a request that it refuses so, hence a POST is repeated like a GET. Nothing else is repeated.
// The zero Retry works.
type Retry struct {
	Client   *http.Client  // nil is http.DefaultClient
	Attempts int           // how often a request is sent at most; zero is 5
	MaxWait  time.Duration // it never waits for longer at a time, and does not wait at all if it is told to; zero is 30 s
}

// Do returns the last answer, a refusal too if waiting cannot help or takes too long: no Retry-After, one beyond MaxWait or
// the context's deadline, no attempt left, or a body that cannot be read again. The error is the client's or the context's.
func (r *Retry) Do(req *http.Request) (*http.Response, error) {
	client, attempts, maxWait := cmp.Or(r.Client, http.DefaultClient), cmp.Or(r.Attempts, 5), cmp.Or(r.MaxWait, 30*time.Second)
	ctx := req.Context()
	for sent := 1; ; sent++ {
		resp, err := client.Do(req)
		if err != nil || sent >= attempts {
			return resp, err
		}
		least, told := retryAfter(resp)
		if !told || least > maxWait || (req.GetBody == nil && req.Body != nil && req.Body != http.NoBody) {
			return resp, nil
		}
		// Those who were refused together must not come back together: full jitter, on top of what the server asks for.
		wait := least + rand.N(1+min(maxWait-least, time.Second<<min(sent, 16)))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return resp, nil
		}
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // read to its end, the connection can be used again
		_ = resp.Body.Close()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
		req = req.Clone(ctx)
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// retryAfter is how long to wait before a refused request is sent again, and whether that can help.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	value := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	now, err := http.ParseTime(resp.Header.Get("Date")) // the server's clock, since the date is by it too
	if err != nil {
		now = time.Now()
	}
	return max(0, date.Sub(now)), true
}
