package middleware

import (
	"net/http"
	"strconv"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// The header fields of draft-ietf-httpapi-ratelimit-headers-11, in Go's canonical form.
const (
	headerPolicy = "Ratelimit-Policy"
	headerLimit  = "Ratelimit"
)

// setQuota adds the quota headers of every enforced rate policy that the store answered: q is the limit and w
// the time in which it may be spent once, of a bucket its burst and how long that takes to fill, r what is left
// and t how long it stays at most that. Limits in log-only mode are not shown, and none whose numbers the store did not give. A refused client is
// told of no window that ends after the wait it is told, in seconds; 0 is none.
func setQuota(h http.Header, a *seawall.Admission, wait int64) {
	var bufs [2][96]byte
	policies, limits := bufs[0][:0], bufs[1][:0]
	checks := a.Checks()
	for i, res := range a.Results() {
		rule, ok := checks[i].Rule.(ratelimit.Rule)
		if !ok || checks[i].Advisory || res.Fallback {
			continue
		}
		if len(policies) > 0 {
			policies, limits = append(policies, ", "...), append(limits, ", "...)
		}
		name := checks[i].Limit.Policy()
		policies = appendItem(policies, name, 'q', res.Limit, 'w', atLeastOne(rule.Window()))
		t := atLeastOne(window(res))
		if wait > 0 {
			t = min(t, wait)
		}
		limits = appendItem(limits, name, 'r', res.Remaining, 't', t)
	}
	if len(policies) > 0 {
		h.Add(headerPolicy, string(policies))
		h.Add(headerLimit, string(limits))
	}
}

// window is how long at most Remaining is available. A refused request's cost comes later than the next
// token, and Retry-After must not be earlier than the window's end.
func window(res seawall.Result) time.Duration {
	if res.NextAfter == 0 {
		return res.ResetAfter
	}
	return res.NextAfter
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
