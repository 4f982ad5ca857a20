package faults

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// stay is a time during which a request was in flight for certain.
type stay struct{ from, to time.Time }

// reaches returns when so many of the stays were at once, first; zero if never.
func reaches(stays []stay, n int) (at time.Time) {
	sweep(stays, func(now time.Time, in int) {
		if in >= n && at.IsZero() {
			at = now
		}
	})
	return at
}

// overlap returns the most that were in flight at once, with the dead's leases until they expire.
func overlap(stays []stay, dead []time.Time) (most int) {
	for _, expiry := range dead {
		stays = append(slices.Clip(stays), stay{time.Time{}, expiry})
	}
	sweep(stays, func(_ time.Time, in int) { most = max(most, in) })
	return most
}

// sweep calls f with how many stays there are from each time on at which that changes.
func sweep(stays []stay, f func(now time.Time, in int)) {
	type change struct {
		at   time.Time
		more int
	}
	var changes []change
	for _, s := range stays {
		if s.to.After(s.from) {
			changes = append(changes, change{s.from, 1}, change{s.to, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		if n := a.at.Compare(b.at); n != 0 {
			return n
		}
		return a.more - b.more
	})
	in := 0
	for _, c := range changes {
		in += c.more
		f(c.at, in)
	}
}

// stay is a request to the rig's first instance.
func (g *rig) stay(caller string) (in stay, admitted, shared bool) {
	a := g.instances[0].stack.Admit(context.Background(), request(caller))
	defer a.Done(context.Background())
	if a.Decision().Denied {
		return in, false, false
	}
	shared = true
	for _, res := range a.Results() {
		shared = shared && !res.Fallback
	}
	in.from = time.Now()
	time.Sleep(deadWork) // how long the requests work
	in.to = time.Now()
	return in, true, shared
}

// stay is a request over HTTP. When exactly its handler works, only the process knows: it is in flight for certain
// between the last time at which it may have begun and the first at which it may have ended.
func (p *payments) stay(caller string, works time.Duration) (in stay, admitted, shared bool) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
		p.url+"/v1/reports?ms="+strconv.FormatInt(works.Milliseconds(), 10), http.NoBody)
	if err != nil {
		return in, false, false
	}
	req.Header.Set("Authorization", "Bearer sk_live_"+caller)
	sent := time.Now()
	resp, err := p.client.Do(req)
	if err != nil {
		return in, false, false
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return in, false, false
	}
	// Who was decided about without Redis is not told of quotas.
	return stay{time.Now().Add(-works), sent.Add(works)}, true, resp.Header.Get("RateLimit") != ""
}
