package policyfile_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/ratelimit/policyfile"
	"github.com/seawall-go/seawall/store/memstore"
)

// head is what every file begins with.
const head = "version: 1\nratelimit:\n"

// one is a file of one policy, with a bucket unless the lines bring another quota, and with the lines from the
// fourth line on, or the fifth.
func one(lines ...string) string {
	text := strings.Join(lines, "\n    ") + "\n"
	for _, a := range []string{"bucket:", "log:", "counter:", "window:"} {
		if strings.HasPrefix(text, a) {
			return head + "  - name: api\n    " + text
		}
	}
	return head + "  - name: api\n    bucket: {rate: 10/s, burst: 20}\n    " + text
}

func api(q ratelimit.Quota) ratelimit.Policy { return ratelimit.Policy{Name: "api", Quota: q} }

// with is the policy of one, changed.
func with(change func(*ratelimit.Policy)) []ratelimit.Policy {
	p := api(ratelimit.TokenBucket(ratelimit.PerSecond(10), 20))
	change(&p)
	return []ratelimit.Policy{p}
}

func plan(of map[seawall.Key]string) func(*seawall.Request) string {
	return func(r *seawall.Request) string { return of[r.Key] }
}

type goodFile struct {
	text string
	want []ratelimit.Policy
}

func goodFiles(t testing.TB) map[string]goodFile {
	la, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	files := map[string]goodFile{}
	for text, quota := range map[string]ratelimit.Quota{
		"bucket: {rate: 10/s, burst: 20}":                 ratelimit.TokenBucket(ratelimit.PerSecond(10), 20),
		"bucket: {rate: 100/m, burst: 1_000}":             ratelimit.TokenBucket(ratelimit.PerMinute(100), 1000),
		"bucket: {rate: 100/min, burst: 1}":               ratelimit.TokenBucket(ratelimit.PerMinute(100), 1),
		"bucket: {rate: 5/h, burst: 20}":                  ratelimit.TokenBucket(ratelimit.PerHour(5), 20),
		"bucket: {rate: 10000/d, burst: 20}":              ratelimit.TokenBucket(ratelimit.PerDay(10_000), 20),
		"bucket: {rate: 1/90s, burst: 20}":                ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: 90 * time.Second}, 20),
		"bucket: {rate: 0.5/s, burst: 20}":                ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: 2 * time.Second}, 20),
		"bucket: {rate: 11/2000s, burst: 20}":             ratelimit.TokenBucket(ratelimit.Rate{Count: 11, Per: 2000 * time.Second}, 20),
		"bucket: {rate: 1/1d12h, burst: 20}":              ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: 36 * time.Hour}, 20),
		"bucket: {rate: 1/30d, burst: 1}":                 ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: 720 * time.Hour}, 1),
		"bucket: {rate: 1000000/s, burst: 1000000000}":    ratelimit.TokenBucket(ratelimit.PerSecond(1_000_000), 1_000_000_000),
		"log: {limit: 100, window: 1m}":                   ratelimit.SlidingLog(100, time.Minute),
		"log: {limit: 3, window: 1.5s}":                   ratelimit.SlidingLog(3, 1500*time.Millisecond),
		"log: {limit: 3, window: 366d}":                   ratelimit.SlidingLog(3, 366*24*time.Hour),
		"counter: {limit: 60, window: 1m}":                ratelimit.SlidingCounter(60, time.Minute),
		"window: {limit: 30, every: day}":                 ratelimit.FixedWindow(30, ratelimit.Daily()),
		"window: {limit: 30, every: week}":                ratelimit.FixedWindow(30, ratelimit.Weekly(time.Monday)),
		"window: {limit: 30, every: week, first: sunday}": ratelimit.FixedWindow(30, ratelimit.Weekly(time.Sunday)),
		"window: {limit: 30, every: month}":               ratelimit.FixedWindow(30, ratelimit.Monthly(1)),
		"window: {limit: 30, every: 90s}":                 ratelimit.FixedWindow(30, ratelimit.Every(90*time.Second)),
		"window: {limit: 30, every: 7d}":                  ratelimit.FixedWindow(30, ratelimit.Every(7*24*time.Hour)),
		`window: {limit: 30, every: day, zone: America/Los_Angeles, at: "03:30"}`: ratelimit.FixedWindow(30,
			ratelimit.Daily().In(la).At(210*time.Minute)),
		"window: {limit: 30, every: week, first: friday, zone: America/Los_Angeles, at: 23:59:59}": ratelimit.FixedWindow(30,
			ratelimit.Weekly(time.Friday).In(la).At(24*time.Hour-time.Second)),
		"window: {limit: 30, every: month, first: 15, zone: UTC}": ratelimit.FixedWindow(30, ratelimit.Monthly(15)),
		"window: {limit: 30, every: 5h, from: 2026-01-01T00:00:07+02:00}": ratelimit.FixedWindow(30,
			ratelimit.Every(5*time.Hour).From(time.Date(2025, 12, 31, 22, 0, 7, 0, time.UTC))),
		`window: {limit: 30, every: 5h, from: "2026-01-01T00:00:07Z"}`: ratelimit.FixedWindow(30,
			ratelimit.Every(5*time.Hour).From(time.Date(2026, 1, 1, 0, 0, 7, 0, time.UTC))),
	} {
		files[text] = goodFile{one(text), []ratelimit.Policy{api(quota)}}
	}
	for text, change := range map[string]func(*ratelimit.Policy){
		"callers: everyone":   func(*ratelimit.Policy) {},
		"callers: signed-in":  func(p *ratelimit.Policy) { p.Callers = ratelimit.SignedIn },
		"callers: anonymous":  func(p *ratelimit.Policy) { p.Callers = ratelimit.Anonymous },
		"on-failure: local":   func(*ratelimit.Policy) {},
		"on-failure: open":    func(p *ratelimit.Policy) { p.OnFailure = seawall.FailOpen },
		"on-failure: closed":  func(p *ratelimit.Policy) { p.OnFailure = seawall.FailClosed },
		"routes: [/v1/*, /]":  func(p *ratelimit.Policy) { p.Routes = []string{"/v1/*", "/"} },
		`routes: ["*"]`:       func(p *ratelimit.Policy) { p.Routes = []string{"*"} },
		"routes: [/v1/:id/x]": func(p *ratelimit.Policy) { p.Routes = []string{"/v1/:id/x"} },
		"cost: 5":             func(p *ratelimit.Policy) { p.Cost = func(*seawall.Request) int64 { return 5 } },
		"plans: {}":           func(*ratelimit.Policy) {},
		"overrides: []":       func(*ratelimit.Policy) {},
		`cost: {/v1/search: 10, "/v1/*": 2, "/v1/se*": 3}`: func(p *ratelimit.Policy) {
			p.Cost = func(r *seawall.Request) int64 {
				switch {
				case r.Route == "/v1/search":
					return 10
				case strings.HasPrefix(r.Route, "/v1/se"):
					return 3
				case strings.HasPrefix(r.Route, "/v1/"):
					return 2
				}
				return r.Cost
			}
		},
		`cost: {"*": 4, /: 1}`: func(p *ratelimit.Policy) {
			p.Cost = func(r *seawall.Request) int64 {
				if r.Route == "/" {
					return 1
				}
				return 4
			}
		},
		"plans: {gold: {bucket: {rate: 100/s, burst: 200}}}": func(p *ratelimit.Policy) {
			p.Plans = map[string]ratelimit.Quota{"gold": ratelimit.TokenBucket(ratelimit.PerSecond(100), 200)}
			p.Plan = plan(nil)
		},
		`overrides: [{caller: [user, "42"], plan: block}, {caller: kea, plan: allow}]`: func(p *ratelimit.Policy) {
			p.Plan = plan(map[seawall.Key]string{seawall.NewKey("user", "42"): "block", seawall.NewKey("kea"): "allow"})
		},
		strings.Join([]string{
			"plans:", "  gold: {bucket: {rate: 100/s, burst: 200}}", "  tin: {bucket: {rate: 1/s, burst: 2}}",
			"overrides:", `  - {caller: [user, "42"], plan: gold}`, `  - {key: "3.kea", plan: tin}`, `  - {caller: [""], plan: block}`,
			`  - {key: ` + seawall.NewKey("not plain").String() + `, plan: gold}`,
		}, "\n    "): func(p *ratelimit.Policy) {
			p.Plans = map[string]ratelimit.Quota{
				"gold": ratelimit.TokenBucket(ratelimit.PerSecond(100), 200), "tin": ratelimit.TokenBucket(ratelimit.PerSecond(1), 2),
			}
			p.Plan = plan(map[seawall.Key]string{
				seawall.NewKey("user", "42"): "gold", seawall.NewKey("kea"): "tin", seawall.NewKey(""): "block", seawall.NewKey("not plain"): "gold",
			})
		},
	} {
		files[text] = goodFile{one(text), with(change)}
	}
	first := with(func(*ratelimit.Policy) {})[0]
	second := ratelimit.Policy{Name: "guest", Quota: ratelimit.SlidingCounter(60, time.Minute), Callers: ratelimit.Anonymous}
	two := []ratelimit.Policy{first, second}
	files["two policies"] = goodFile{one() + "  - name: guest\n    counter: {limit: 60, window: 1m}\n    callers: anonymous\n", two}
	files["JSON"] = goodFile{`{"version": 1, "ratelimit": [{"name": "api", "bucket": {"rate": "10/s", "burst": 20}},
		{"name": "guest", "counter": {"limit": 60, "window": "1m"}, "callers": "anonymous"}]}`, two}
	files["CRLF, BOM and comments"] = goodFile{"\ufeff# ü\r\n" + strings.ReplaceAll(one("callers: everyone # all"), "\n", "\r\n"), []ratelimit.Policy{first}}
	files["document markers"] = goodFile{"---\n" + one() + "...\n", []ratelimit.Policy{first}}
	return files
}

// decide asks for many requests at many times, and returns all that was planned and answered.
func decide(t testing.TB, policies []ratelimit.Policy) (all []any) {
	t.Helper()
	limiter, err := ratelimit.New(ratelimit.Config{Policies: policies})
	require.NoError(t, err)
	now := time.Date(2026, 2, 27, 22, 59, 58, 0, time.UTC)
	store := memstore.New(memstore.Config{Now: func() time.Time { return now }})
	defer store.Close(context.Background())
	for i, step := range []time.Duration{
		0, time.Millisecond, time.Second, time.Minute, time.Hour, 5 * time.Hour, 24 * time.Hour, 72 * time.Hour, 15 * 24 * time.Hour, 40 * 24 * time.Hour,
	} {
		now = now.Add(step)
		for _, route := range []string{"/v1/search", "/v1/settle", "/v1/list", "/v1/:id/x", "/", ""} {
			for _, key := range []seawall.Key{{}, seawall.NewKey("user", "42"), seawall.NewKey("kea"), seawall.NewKey(""), seawall.NewKey("not plain")} {
				r := seawall.Request{Key: key, Route: route, Cost: int64(1 + i%3), Authenticated: i%2 == 0}
				checks := limiter.Plan(nil, &r)
				results, err := store.Apply(t.Context(), nil, checks)
				require.NoError(t, err)
				for j, c := range checks {
					all = append(all, *c.Limit, c.Rule.Kind(), c.Key, c.Cost, results[j])
					if rule, ok := c.Rule.(ratelimit.Rule); ok {
						all = append(all, rule.Limit(), rule.Window())
					}
				}
			}
		}
	}
	return all
}

func TestAFileMeansWhatThePoliciesInGoMean(t *testing.T) {
	t.Parallel()
	for name, c := range goodFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := policyfile.Parse("policies.yaml", []byte(c.text))
			require.NoError(t, err)
			require.Len(t, f.Policies(), len(c.want))
			assert.Equal(t, decide(t, c.want), decide(t, f.Policies()))
		})
	}
}

// A quota of equal text is equal, so that programs can compare those without a zone.
func TestAQuotaIsTheSameValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ratelimit.Quota{
		"bucket: {rate: 10/s, burst: 20}":          ratelimit.TokenBucket(ratelimit.PerSecond(10), 20),
		"bucket: {rate: 2.50/min, burst: 20}":      ratelimit.TokenBucket(ratelimit.Rate{Count: 5, Per: 2 * time.Minute}, 20),
		"window: {limit: 1, every: 7d}":            ratelimit.FixedWindow(1, ratelimit.Every(7*24*time.Hour)),
		"window: {limit: 1, every: day, at: 6:00}": {},
	} {
		f, err := policyfile.Parse("policies.yaml", []byte(one(text)))
		if want.IsZero() {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, want, f.Policies()[0].Quota)
	}
}

func TestPoliciesAreTheCallersToChange(t *testing.T) {
	t.Parallel()
	f, err := policyfile.Parse("policies.yaml", []byte(one("routes: [/a]", "plans: {gold: {bucket: {rate: 1/s, burst: 1}}}")))
	require.NoError(t, err)
	p := f.Policies()
	p[0].Name, p[0].Routes[0] = "changed", "changed"
	delete(p[0].Plans, "gold")
	again := f.Policies()[0]
	assert.Equal(t, "api", again.Name)
	assert.Equal(t, []string{"/a"}, again.Routes)
	assert.Len(t, again.Plans, 1)
}

func TestARequestAllocatesNothing(t *testing.T) {
	f, err := policyfile.Parse("policies.yaml", []byte(one(
		`cost: {/v1/search: 10, "/v1/*": 2}`, "plans: {gold: {bucket: {rate: 1/s, burst: 1}}}",
		"overrides:", strings.Repeat("  - {caller: [user, \"4711\"], plan: gold}\n", 1))))
	require.NoError(t, err)
	l, err := ratelimit.New(ratelimit.Config{Policies: f.Policies()})
	require.NoError(t, err)
	dst, request := make([]seawall.Check, 0, 4), &seawall.Request{Key: seawall.NewKey("user", "4711"), Route: "/v1/list"}
	assert.Zero(t, testing.AllocsPerRun(100, func() { dst = l.Plan(dst[:0], request) }))
	require.EqualValues(t, 1, dst[0].Rule.(ratelimit.Rule).Limit())
	require.EqualValues(t, 2, dst[0].Cost)
}

func TestRoutesAreAllThatAreNamed(t *testing.T) {
	f, err := policyfile.Parse("test", []byte(`
version: 1
ratelimit:
  - {name: a, bucket: {rate: 1/s, burst: 1}, routes: [/v1/*, /v1/users/:id], cost: {/v1/search: 3, "*": 1}}
  - {name: b, bucket: {rate: 1/s, burst: 1}, routes: [/v1/*, "*"]}
`))
	require.NoError(t, err)
	assert.Equal(t, []string{"/v1/*", "/v1/search", "/v1/users/:id"}, f.Routes())
}
