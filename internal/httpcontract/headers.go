package httpcontract

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
)

// The fields that tell of quotas, as Go keeps them.
const (
	fieldPolicy = "Ratelimit-Policy"
	fieldLimit  = "Ratelimit"
	fieldX      = "X-Ratelimit-"
)

// item is a member of a structured field's list: a name with integers.
type item struct {
	name   string
	params map[string]int64
}

// list parses a field as a list of items, in order.
func list(t *testing.T, h http.Header, field string) (items []item) {
	t.Helper()
	require.Len(t, h.Values(field), 1, "one field of %s", field)
	members, err := httpsfv.UnmarshalList(h.Values(field))
	require.NoError(t, err, "%s: %q", field, h.Values(field))
	for _, member := range members {
		m, ok := member.(httpsfv.Item)
		require.True(t, ok)
		name, ok := m.Value.(string)
		require.True(t, ok, "a string, not a token")
		params := map[string]int64{}
		for _, k := range m.Params.Names() {
			v, _ := m.Params.Get(k)
			n, ok := v.(int64)
			require.True(t, ok, "%s of %s", k, name)
			params[k] = n
		}
		items = append(items, item{name, params})
	}
	return items
}

// quotaFields are the fields of an answer that tell of quotas.
func quotaFields(h http.Header) map[string]string {
	told := map[string]string{}
	for name, values := range h {
		if name == fieldPolicy || name == fieldLimit || strings.HasPrefix(name, fieldX) {
			told[name] = strings.Join(values, "|")
		}
	}
	return told
}

func (a Adapter) headers(t *testing.T) {
	t.Run("of the eleventh draft are one list of all policies", a.draft11)
	t.Run("of other styles are of the tightest policy", a.otherStyles)
	t.Run("are the same for HEAD", a.head)
	t.Run("do not tell who is known", a.knownAndUnknown)
}

// twoPolicies is an API of two buckets, of two tokens and of three.
func (a Adapter) twoPolicies(t *testing.T, style guard.Headers) *api {
	t.Helper()
	return a.serve(t, App{Routes: one("/"), Guards: []Guard{{
		Stack: fixture.Limited(t, fixture.Policy("pair", 2), fixture.Policy("three", 3)), Identify: fixture.AsCaller, Headers: style,
	}}})
}

func (a Adapter) draft11(t *testing.T) {
	s := a.twoPolicies(t, guard.Draft11)
	for i, left := range []int64{1, 0, 0, 0} { // a refused request spends nothing anywhere
		got := s.do(t, []string{"GET /", "POST /", "GET /", "POST /"}[i])
		assert.Equal(t, i > 1, got.status == http.StatusTooManyRequests)
		assert.Equal(t, []item{
			{"pair", map[string]int64{"q": 2, "w": 2}}, {"three", map[string]int64{"q": 3, "w": 3}},
		}, list(t, got.header, fieldPolicy))
		assert.Equal(t, []item{
			{"pair", map[string]int64{"r": left, "t": 1}}, {"three", map[string]int64{"r": left + 1, "t": 1}},
		}, list(t, got.header, fieldLimit))
		assert.Len(t, quotaFields(got.header), 2)
	}
}

func (a Adapter) otherStyles(t *testing.T) {
	for name, c := range map[string]struct {
		style guard.Headers
		want  []map[string]string // by request; the last is refused
	}{
		"draft 07": {guard.Draft07, []map[string]string{
			{fieldPolicy: "2;w=2", fieldLimit: "limit=2, remaining=1, reset=1"},
			{fieldPolicy: "2;w=2", fieldLimit: "limit=2, remaining=0, reset=1"},
			{fieldPolicy: "2;w=2", fieldLimit: "limit=2, remaining=0, reset=1"},
		}},
		"X-RateLimit": {guard.XRateLimit, []map[string]string{
			{fieldX + "Limit": "2", fieldX + "Remaining": "1", fieldX + "Reset": "1"},
			{fieldX + "Limit": "2", fieldX + "Remaining": "0", fieldX + "Reset": "1"},
			{fieldX + "Limit": "2", fieldX + "Remaining": "0", fieldX + "Reset": "1"},
		}},
		"none": {guard.NoHeaders, []map[string]string{{}, {}, {}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := a.twoPolicies(t, c.style)
			for i, want := range c.want {
				got := s.do(t, "GET /")
				assert.Equal(t, want, quotaFields(got.header), "request %d", i)
				if i == len(c.want)-1 {
					assert.Equal(t, http.StatusTooManyRequests, got.status)
					assert.Equal(t, []string{"1"}, got.header["Retry-After"], "in every style")
				} else {
					assert.Equal(t, http.StatusOK, got.status)
					assert.NotContains(t, got.header, "Retry-After")
					assert.NotContains(t, got.header, "Cache-Control")
				}
			}
		})
	}
}

func (a Adapter) head(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		s := a.twoPolicies(t, guard.Draft11)
		for i, want := range []int{200, 200, 429} {
			got := s.do(t, method+" /")
			assert.Equal(t, want, got.status)
			assert.Len(t, quotaFields(got.header), 2, "%s %d", method, i)
			assert.Equal(t, want == 429, got.header.Get("Retry-After") == "1")
			assert.Equal(t, want == 429, got.header.Get("Cache-Control") == "no-store")
			assert.Equal(t, want == 429, got.header.Get("Content-Type") == guard.MediaType, "%s: %q", method, got.header["Content-Type"])
			assert.Equal(t, method == http.MethodHead, got.body == "")
		}
	}
}

// knownAndUnknown has callers with keys of the application's and with others not be told apart by the shape of answers.
func (a Adapter) knownAndUnknown(t *testing.T) {
	identify := fixture.Hasher(t).ByAPIKey(identity.APIKey{Verify: func(_ identity.Call, key string) bool { return key == "known" }})
	guest, member := fixture.Policy("guest", 1), fixture.Policy("member", 1)
	guest.Callers, member.Callers = ratelimit.Anonymous, ratelimit.SignedIn
	shapes := map[string][]string{}
	for _, key := range []string{"known", "unknown"} {
		s := a.serve(t, App{Routes: one("/"), Guards: []Guard{{Stack: fixture.Limited(t, guest, member), Identify: identify}}})
		for _, want := range []int{200, 429} {
			got := s.do(t, "GET /", header("Authorization", "Bearer "+key))
			require.Equal(t, want, got.status, key)
			shape := slices.Sorted(maps.Keys(got.header))
			if want == 429 {
				shape = append(shape, members(t, got.body)...)
			}
			shapes[strconv.Itoa(want)] = append(shapes[strconv.Itoa(want)], strings.Join(shape, " "))
		}
	}
	for status, of := range shapes {
		assert.Equal(t, of[0], of[1], status)
	}
}

// refusing are stacks that refuse whoever asks as caller, by the cause, and what they say.
func refusing(t *testing.T) map[string]struct {
	stack *seawall.Stack
	want  problem
} {
	t.Helper()
	type refused = struct {
		stack *seawall.Stack
		want  problem
	}
	const (
		quota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
		capacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
	)
	calling := func(limiter, policy string) problem {
		return problem{Type: quota, Title: "Too many requests", Status: 429, Limiter: limiter, Policy: policy, Violated: []string{policy}}
	}
	service := func(limiter, policy string) problem {
		return problem{Type: capacity, Title: "Temporarily reduced capacity", Status: 503, Limiter: limiter, Policy: policy}
	}
	spent := fixture.Limited(t, fixture.Policy("api", 1))
	hold(t, spent)
	heavy := fixture.Policy("heavy", 1)
	heavy.Cost = func(*seawall.Request) int64 { return 2 }
	busy := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, slots(t, 1, 1))
	hold(t, busy)
	full := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Fleet(t, 1))
	hold(t, full)
	drowning := fixture.Stack(t, seawall.Config{}, fixture.Workers(t, 1))
	hold(t, drowning)
	closed := fixture.Policy("login", 1)
	closed.OnFailure = seawall.FailClosed
	return map[string]refused{
		"ratelimit":   {spent, calling("ratelimit", "api")},
		"never":       {fixture.Limited(t, heavy), calling("ratelimit", "heavy")},
		"concurrency": {busy, calling("concurrency", "in-flight")},
		"fleetshed":   {full, service("fleetshed", "ordinary")},
		"workershed":  {drowning, service("workershed", "utilization")},
		"unavailable": {fixture.Stack(t, seawall.Config{Store: broken{gone}}, fixture.Rate(t, closed)), service("ratelimit", "login")},
	}
}
