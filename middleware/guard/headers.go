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

// tell adds the fields about a decided request. refusal is nil if it was admitted.
func (g *Guard) tell(h http.Header, p *Passage, refusal *Refusal) {
	switch s := g.headers; s {
	case Draft11:
		g.tellAll(h, p, refusal)
	case Draft07, XRateLimit:
		check, res := tightest(p.admission)
		if check == nil || res.Admitted && !tighter(h, s, res.Remaining) {
			return
		}
		limit, remaining := strconv.FormatInt(res.Limit, 10), strconv.FormatInt(res.Remaining, 10)
		wait := lasts(&res, refusal)
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

// tellAll shows every policy: q is the limit and w the time in which it may be spent once, of a bucket its burst and
// how long that takes to fill, r what is left and t how long it stays at most that.
func (g *Guard) tellAll(h http.Header, p *Passage, refusal *Refusal) {
	var buf [96]byte
	var asked [4]policy
	limits, policies := buf[:0], asked[:0]
	checks, results := p.admission.Checks(), p.admission.Results()
	for i := range results {
		c, res := &checks[i], &results[i]
		rule, ok := shown(c, res)
		if !ok {
			continue
		}
		if len(policies) > 0 {
			limits = append(limits, ", "...)
		}
		policies = append(policies, policy{c.Limit, res.Limit, atLeastOne(rule.Window())})
		limits = appendItem(limits, c.Limit.Policy(), 'r', res.Remaining, 't', lasts(res, refusal))
	}
	if len(policies) == 0 {
		return
	}
	p.fields = [...]string{g.texts.of(policies), string(limits)}
	add(h, fieldPolicy, p.fields[:1:1])
	add(h, fieldLimit, p.fields[1:])
}

// add adds a value to a field. Where there is none yet the one given is used; it has no room for others.
func add(h http.Header, field string, value []string) {
	if before := h[field]; len(before) > 0 {
		value = append(before, value...)
	}
	h[field] = value
}

// shown tells whether clients may see a check: limits in log-only mode are not theirs to know, and none whose numbers
// the store did not give.
func shown(c *seawall.Check, res *seawall.Result) (ratelimit.Rule, bool) {
	if c.Advisory || res.Fallback {
		return nil, false
	}
	rule, ok := c.Rule.(ratelimit.Rule)
	return rule, ok
}

// tightest is the shown check of which least is left, one that refuses before all others; nil if there is none.
func tightest(a *seawall.Admission) (check *seawall.Check, res seawall.Result) {
	checks, results := a.Checks(), a.Results()
	for i := range results {
		r := &results[i]
		if _, ok := shown(&checks[i], r); ok && (check == nil || res.Admitted && !r.Admitted || res.Admitted == r.Admitted && r.Remaining < res.Remaining) {
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
func lasts(res *seawall.Result, refusal *Refusal) int64 {
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
