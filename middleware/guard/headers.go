package guard

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// Headers is how clients are told what is left of their quotas. Only enforced rate policies are shown, and only numbers
// that the store gave.
type Headers uint8

// The styles. Draft11 shows all policies that were asked, the others the one of which least is left: of their fields there
// can be but one.
const (
	// Draft11 is RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-11: lists of
	// "name";q=limit;w=window and "name";r=remaining;t=seconds for which at most that is left.
	Draft11 Headers = iota
	// Draft07 is the same fields in the seventh draft: limit;w=window and limit=…, remaining=…, reset=….
	Draft07
	// XRateLimit is X-RateLimit-Limit, -Remaining and -Reset. In this style and the one before, reset is when more than
	// what remains will be available, in seconds from now.
	XRateLimit
	// NoHeaders is none of them. Retry-After is sent all the same.
	NoHeaders
)

// The fields' names in Go's canonical form, which clients write in any case.
const (
	fieldPolicy     = "Ratelimit-Policy"
	fieldLimit      = "Ratelimit"
	fieldXLimit     = "X-Ratelimit-Limit"
	fieldXRemaining = "X-Ratelimit-Remaining"
	fieldXReset     = "X-Ratelimit-Reset"
)

// Names are the response headers to list in Access-Control-Expose-Headers, so that scripts of other origins can read
// them.
func (s Headers) Names() []string {
	switch s {
	case Draft11, Draft07:
		return []string{"RateLimit-Policy", "RateLimit", "Retry-After"}
	case XRateLimit:
		return []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"}
	}
	return []string{"Retry-After"}
}

// set adds the fields about a decided request. refusal is nil if it was admitted.
func (s Headers) set(h http.Header, a *seawall.Admission, refusal *Refusal) {
	switch s {
	case Draft11:
		setDraft11(h, a, refusal)
	case Draft07, XRateLimit:
		check, res := tightest(a)
		if check == nil || res.Admitted && !tighter(h, s, res.Remaining) {
			return
		}
		limit, remaining := strconv.FormatInt(res.Limit, 10), strconv.FormatInt(res.Remaining, 10)
		wait := lasts(res, refusal)
		if !res.Admitted && refusal != nil {
			wait = max(wait, refusal.Seconds)
		}
		reset := strconv.FormatInt(wait, 10)
		if s == XRateLimit {
			h.Set(fieldXLimit, limit)
			h.Set(fieldXRemaining, remaining)
			h.Set(fieldXReset, reset)
			return
		}
		window := check.Rule.(ratelimit.Rule).Window()
		h.Set(fieldPolicy, limit+";w="+strconv.FormatInt(atLeastOne(window), 10))
		h.Set(fieldLimit, "limit="+limit+", remaining="+remaining+", reset="+reset)
	}
}

// setDraft11 shows every policy: q is the limit and w the time in which it may be spent once, of a bucket its burst and
// how long that takes to fill, r what is left and t how long it stays at most that.
func setDraft11(h http.Header, a *seawall.Admission, refusal *Refusal) {
	var bufs [2][96]byte
	policies, limits := bufs[0][:0], bufs[1][:0]
	checks := a.Checks()
	for i, res := range a.Results() {
		if !shown(&checks[i], &res) {
			continue
		}
		if len(policies) > 0 {
			policies, limits = append(policies, ", "...), append(limits, ", "...)
		}
		name := checks[i].Limit.Policy()
		policies = appendItem(policies, name, 'q', res.Limit, 'w', atLeastOne(checks[i].Rule.(ratelimit.Rule).Window()))
		limits = appendItem(limits, name, 'r', res.Remaining, 't', lasts(res, refusal))
	}
	if len(policies) > 0 {
		h.Add(fieldPolicy, string(policies))
		h.Add(fieldLimit, string(limits))
	}
}

// shown tells whether clients may see a check: limits in log-only mode are not theirs to know, and none whose numbers
// the store did not give.
func shown(c *seawall.Check, res *seawall.Result) bool {
	_, ok := c.Rule.(ratelimit.Rule)
	return ok && !c.Advisory && !res.Fallback
}

// tightest is the shown check of which least is left, one that refuses before all others; nil if there is none.
func tightest(a *seawall.Admission) (check *seawall.Check, res seawall.Result) {
	checks, results := a.Checks(), a.Results()
	for i := range results {
		r := &results[i]
		if shown(&checks[i], r) && (check == nil || res.Admitted && !r.Admitted || res.Admitted == r.Admitted && r.Remaining < res.Remaining) {
			check, res = &checks[i], *r
		}
	}
	return check, res
}

// tighter tells whether less is left than an outer middleware has said.
func tighter(h http.Header, s Headers, remaining int64) bool {
	said := h.Get(fieldXRemaining)
	if s == Draft07 {
		_, said, _ = strings.Cut(h.Get(fieldLimit), "remaining=")
		said, _, _ = strings.Cut(said, ",")
	}
	before, err := strconv.ParseInt(said, 10, 64)
	return err != nil || remaining < before
}

// lasts is for how many seconds no more than Remaining is available. A refused client is told of none that ends after the
// wait that it is told: its cost comes later than the next token.
func lasts(res seawall.Result, refusal *Refusal) int64 {
	window := res.NextAfter
	if window == 0 {
		window = res.ResetAfter
	}
	seconds := atLeastOne(window)
	if refusal != nil && refusal.Seconds > 0 {
		seconds = min(seconds, refusal.Seconds)
	}
	return seconds
}

// appendItem appends a structured-field item: a quoted name, which holds no character to escape, and two
// integer parameters.
func appendItem(b []byte, name string, k1 byte, v1 int64, k2 byte, v2 int64) []byte {
	b = append(b, '"')
	b = append(b, name...)
	b = append(b, '"', ';', k1, '=')
	b = strconv.AppendInt(b, v1, 10)
	b = append(b, ';', k2, '=')
	return strconv.AppendInt(b, v2, 10)
}

// atLeastOne is d in whole seconds, rounded up, at least 1.
func atLeastOne(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}
