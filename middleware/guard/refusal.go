package guard

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/ratelimit"
)

// The problem types of the IANA registry that refusals use.
const (
	typeQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	typeCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// Refusal is the error of a refused request: errors.As finds it in what the middleware returns. It renders
// as a problem of RFC 9457.
type Refusal struct {
	// Decision is what the layers said.
	Decision seawall.Decision
	// Seconds is how long the client is told to wait: the Decision's RetryAfter in whole seconds, which those of shedders are
	// spread over; 0 if waiting cannot help.
	Seconds int64
	// Violated are the policies that refuse, in the order of the layers; the first is the Decision's.
	Violated []string
}

// refusalOf is nil if the request was admitted.
func refusalOf(a *seawall.Admission) *Refusal {
	d := a.Decision()
	if !d.Denied {
		return nil
	}
	r := &Refusal{Decision: d, Seconds: seconds(d)}
	checks := a.Checks()
	for i, res := range a.Results() {
		if !res.Admitted && !checks[i].Advisory {
			r.Violated = append(r.Violated, checks[i].Limit.Policy())
		}
	}
	return r
}

// setHeaders tells the client when to come back, and caches that the answer is for it alone.
func (r *Refusal) setHeaders(h http.Header) {
	if r.Seconds > 0 {
		h.Set("Retry-After", strconv.FormatInt(r.Seconds, 10))
	}
	h.Set("Cache-Control", "no-store")
}

// StatusCode is 429 if the caller used up what it may, and 503 if the service cannot.
func (r *Refusal) StatusCode() int {
	if ofCaller(r.Decision.Cause) {
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("seawall: refused by %s, policy %s", r.Decision.Layer, r.Decision.Policy)
}

// MediaType is the Content-Type of a refusal's JSON.
const MediaType = "application/problem+json"

// problem is the body of a refusal.
type problem struct {
	Type       string `json:"type"`
	Title      string `json:"title"`
	Status     int    `json:"status"`
	Detail     string `json:"detail"`
	Limiter    string `json:"limiter"`
	Policy     string `json:"policy"`
	RetryAfter int64  `json:"retry_after,omitempty"`
	// Violated is the extension of the registered type quota-exceeded.
	Violated []string `json:"violated-policies,omitempty"`
}

// MarshalJSON renders the problem.
func (r *Refusal) MarshalJSON() ([]byte, error) {
	p := problem{
		Type: typeQuota, Title: r.Title(), Status: r.StatusCode(), Detail: r.Detail(),
		Limiter: r.Decision.Layer, Policy: r.Decision.Policy, RetryAfter: r.Seconds,
	}
	if p.Status == http.StatusServiceUnavailable {
		p.Type = typeCapacity
	} else {
		p.Violated = r.Violated
	}
	return json.Marshal(p)
}

// ofCaller tells whether it is for the caller's own sake that it was refused, and not for the service's.
func ofCaller(c seawall.Cause) bool { return c == seawall.CauseQuota || c == seawall.CauseBlocked }

// Title is what happened, in a few words.
func (r *Refusal) Title() string {
	if ofCaller(r.Decision.Cause) {
		return "Too many requests"
	}
	return "Temporarily reduced capacity"
}

// Detail says what to do.
func (r *Refusal) Detail() string {
	wait := "Retry after " + strconv.FormatInt(r.Seconds, 10) + " s."
	switch {
	case r.Decision.Cause == seawall.CauseUnavailable:
		return "This request cannot be checked against its limit right now, and is not allowed unchecked. " + wait
	case r.Decision.Cause == seawall.CauseBlocked:
		return "This caller is blocked. Do not repeat the request; contact the service."
	case r.Seconds == 0:
		return "This request costs more than its limit ever allows. Do not repeat it; ask for less."
	}
	switch r.Decision.Layer {
	case ratelimit.Name:
		return "You have sent too many requests. " + wait + " Spread requests evenly to stay below the limit."
	case concurrency.Name:
		return "You have too many requests in progress. Wait until some have finished. " + wait
	case fleetshed.Name:
		return "The service is busy and keeps its remaining capacity for critical requests. " + wait
	}
	return "The service is overloaded and drops less important requests. " + wait
}

// seconds is the wait that a client is told: whole seconds, rounded up, at least 1; 0 for never. Waits for
// capacity are spread, so that those refused together do not come back together.
func seconds(d seawall.Decision) int64 {
	if d.RetryAfter == seawall.Never {
		return 0
	}
	s := atLeastOne(d.RetryAfter)
	if !ofCaller(d.Cause) {
		s += rand.Int64N(s + 1) //nolint:gosec // spreads load, guards nothing
	}
	return s
}
