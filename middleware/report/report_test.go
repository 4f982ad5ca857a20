package report_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/report"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/workershed"
)

// darkDay is a world in which something has happened: Acme asked 10 times at once, somebody 5 times.
func darkDay(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, report.Config{}, nil,
		rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 4)}))
	ask := func(caller, name, route string, tier seawall.Tier) {
		w.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey(caller), Name: name, Route: route, Tier: tier}).Done(t.Context())
	}
	for range 10 {
		ask("a", "Acme\x1b[2J\n", "/v1/charges", seawall.Write)
	}
	w.now = w.now.Add(90 * time.Second)
	for range 5 {
		ask("b", "", "", seawall.Read)
	}
	return w
}

func TestTheTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := darkDay(t).recorder.Report()
	r.Fleet = 3
	require.NoError(t, r.WriteTable(&b))
	assert.Equal(t, `refusals from 2026-11-30 10:00:00 to 2026-11-30 10:01:30 UTC (1m30s), 1 of 3 instances: merge the others' for the whole

LAYER      POLICY  MODE      REQUESTS  REFUSED  WOULD REFUSE  SHARE  PEAK/S
ratelimit  api     log-only  15        0        7             46.7%  6

ratelimit:api (token bucket, 4 in 4s), first 2026-11-30 10:00:00, last 2026-11-30 10:01:30
  ROUTE        TIER   REFUSED  WOULD REFUSE
  /v1/charges  write  0        6
  (unmatched)  read   0        1

  CALLER        NAME       REFUSED  WOULD REFUSE  OF THE LAST  FIRST                LAST                 MEAN/S  PEAK/S  LIMIT  ENOUGH
  `+id("a")+`  Acme?[2J?  0        6             6            2026-11-30 10:00:00  2026-11-30 10:00:00  -       6       4      about 10
  `+id("b")+`  -          0        1             1            2026-11-30 10:01:30  2026-11-30 10:01:30  -       1       4      about 5
`, b.String())
}

// Whoever asks too fast for too long needs another rate; and of many who are refused a few times each little is known.
func TestTheTableSaysWhatItsNumbersAreWorth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, report.Config{Callers: 2}, nil, rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 5)}))
	for range 120 {
		w.now = w.now.Add(500 * time.Millisecond)
		w.ask("a", 1)
	}
	for _, caller := range []string{"b", "c", "d", "e"} {
		for range 7 {
			w.ask(caller, 1)
		}
	}
	var b strings.Builder
	require.NoError(t, w.recorder.Report().WriteTable(&b))
	assert.Regexp(t, `(?m)^  `+id("a")+` .* 2\.\d+ +2 +5 +61\*$`, b.String())
	assert.Contains(t, b.String(), "* asks faster than its rate in the long run: no burst is enough for good")
	assert.Contains(t, b.String(), "callers: 1 more of whom little is known, since many are refused a few times each")
	assert.Contains(t, b.String(), "who is not listed: refused at most 8 times each")
	assert.NotContains(t, b.String(), id("e"))
}

// An outage is nobody's fault.
func TestAnOutageIsCountedApart(t *testing.T) {
	t.Parallel()
	w := newWorldBehind(t, func(*world, seawall.Store) seawall.Store { return fixture.Broken{Err: errors.New("gone")} },
		report.Config{}, seawall.Fixed{}, rate(t,
			ratelimit.Policy{Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 5), OnFailure: seawall.FailClosed}))
	for range 3 {
		w.ask("a", 1)
	}
	p := policy(t, w.recorder.Report(), "ratelimit", "login")
	assert.Equal(t, []int64{0, 0, 3}, []int64{p.Refused, p.WouldRefuse, p.Unavailable})
	assert.Empty(t, p.Callers)
	var b strings.Builder
	require.NoError(t, w.recorder.Report().WriteTable(&b))
	assert.Contains(t, b.String(), "ratelimit:login refused, or would have, 3 more because the store could not be asked, and it fails closed")
}

// A report from elsewhere may hold anything.
func TestAHostileReportIsPrintedPlainly(t *testing.T) {
	t.Parallel()
	evil := "\x1b]0;x\a\n\u202e"
	r := report.Report{Policies: []report.Policy{{
		Layer: evil, Name: evil, Rule: evil, Refused: 1, Unavailable: 1, Routes: []report.Route{{Route: evil, Tier: evil, Refused: 1}},
		Callers: []report.Caller{{ID: evil, Name: evil, Refused: 1}},
	}}}
	var b strings.Builder
	require.NoError(t, r.WriteTable(&b))
	assert.NotContains(t, b.String(), "\x1b")
	assert.NotContains(t, b.String(), "\u202e")
}

// Instances behind a balancer that is sticky each see other callers: all of them are in the merged report.
func TestMergeKeepsWhomItHasPlacesFor(t *testing.T) {
	t.Parallel()
	var parts []report.Report
	for _, caller := range []string{"a", "b", "c"} {
		w := refusing(t, report.Config{})
		w.ask(caller, 1)
		w.ask(caller, 1)
		parts = append(parts, w.recorder.Report())
	}
	assert.Len(t, policy(t, report.Merge(parts...), "ratelimit", "api").Callers, 3)
	assert.Len(t, report.Merge(parts...).Instances, 3)
}

// Of two limits the one that refused last counts.
func TestMergeTakesTheLaterLimit(t *testing.T) {
	t.Parallel()
	of := func(limit int64, hour time.Duration) report.Report {
		w := newWorld(t, report.Config{}, nil, rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), limit)}))
		w.now = w.now.Add(hour)
		for range 3 * limit {
			w.ask("a", 1)
		}
		return w.recorder.Report()
	}
	old, now := of(4, 0), of(8, time.Hour)
	for _, merged := range []report.Report{report.Merge(old, now), report.Merge(now, old)} {
		c := listed(t, policy(t, merged, "ratelimit", "api"), id("a"))
		assert.EqualValues(t, 8, c.Limit)
		assert.EqualValues(t, 24, c.Enough)
	}
}

func TestAReportSurvivesJSON(t *testing.T) {
	t.Parallel()
	w := darkDay(t)
	answer := httptest.NewRecorder()
	w.recorder.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/?format=json", http.NoBody))
	assert.Equal(t, "application/json", answer.Header().Get("Content-Type"))
	assert.Equal(t, "no-store", answer.Header().Get("Cache-Control"))
	var r report.Report
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &r))
	assert.Equal(t, w.recorder.Report(), r)
	assert.Equal(t, r, report.Merge(r), "of one report it is the same")
	assert.Equal(t, r, report.Merge(r, r), "the same one twice counts once")
}

func TestTheHandler(t *testing.T) {
	t.Parallel()
	w := darkDay(t)
	get := func(target string, header ...string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodGet, target, http.NoBody)
		for _, accept := range header {
			req.Header.Set("Accept", accept)
		}
		answer := httptest.NewRecorder()
		w.recorder.Handler().ServeHTTP(answer, req)
		return answer
	}
	table := get("/")
	assert.Equal(t, "text/plain; charset=utf-8", table.Header().Get("Content-Type"))
	assert.Contains(t, table.Body.String(), id("b"))
	assert.True(t, json.Valid(get("/", "application/json").Body.Bytes()))
	assert.False(t, json.Valid(get("/?format=table", "application/json").Body.Bytes()))

	top := get("/?top=1").Body.String()
	assert.Contains(t, top, id("a"))
	assert.NotContains(t, top, id("b"))
	assert.Contains(t, top, "who is not listed: refused at most 1 times each")
	posted := httptest.NewRecorder()
	w.recorder.Handler().ServeHTTP(posted, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
	assert.Equal(t, http.StatusMethodNotAllowed, posted.Code)
	for _, target := range []string{"/?format=xml", "/?top=-1", "/?top=all"} {
		answer := get(target)
		assert.Equal(t, http.StatusBadRequest, answer.Code, target)
		assert.Contains(t, answer.Body.String(), "want", target)
	}
}

// Every layer's refusals are in the report, and callers of shared limits are those who asked.
func TestEveryLayer(t *testing.T) {
	t.Parallel()
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 2})
	require.NoError(t, err)
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 2, Reserve: 0.5})
	require.NoError(t, err)
	worker, err := workershed.New(workershed.Config{Workers: 100})
	require.NoError(t, err)
	w := newWorld(t, report.Config{}, nil,
		worker, rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 5)}), slots, fleet)
	admit := func(caller string) *seawall.Admission {
		return w.Admit(context.Background(), &seawall.Request{Key: seawall.NewKey(caller)})
	}
	one := admit("a")
	two := admit("b") // the fleet is full
	two.Done(t.Context())
	one.Done(t.Context())
	p := policy(t, w.recorder.Report(), "fleetshed", "ordinary")
	assert.EqualValues(t, 1, p.WouldRefuse)
	assert.EqualValues(t, 1, listed(t, p, id("b")).Count)
	assert.Zero(t, listed(t, p, id("b")).Enough, "the fleet's slots are nobody's own")
	assert.EqualValues(t, 2, policy(t, w.recorder.Report(), "workershed", "utilization").Requests)
}

func TestEnforcedRefusalsCountToo(t *testing.T) {
	t.Parallel()
	modes := seawall.Fixed{}
	w := newWorld(t, report.Config{}, modes,
		rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1)}))
	for range 3 {
		w.ask("a", 1)
	}
	p := policy(t, w.recorder.Report(), "ratelimit", "api")
	assert.EqualValues(t, 2, p.Refused)
	assert.Zero(t, p.WouldRefuse)
	assert.EqualValues(t, 2, listed(t, p, id("a")).Refused)
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 4097} {
		_, err := report.New(report.Config{Callers: n})
		require.ErrorContains(t, err, "report: Config.Callers is")
		require.ErrorContains(t, err, "want 1 to 4096, or zero for 256")
	}
}

func TestIDsOfARecorderAlone(t *testing.T) {
	t.Parallel()
	r, err := report.New(report.Config{})
	require.NoError(t, err)
	limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(t, err)
	c := seawall.Check{Limit: limit, Key: seawall.NewKey("user", "alice"), Cost: 1}
	r.Decided(t.Context(), &seawall.Request{Key: c.Key}, seawall.Event{Outcome: seawall.Denied, Check: &c})
	text, err := json.Marshal(r.Report())
	require.NoError(t, err)
	assert.NotContains(t, string(text), "alice")
	assert.Len(t, policy(t, r.Report(), "ratelimit", "api").Callers[0].ID, 12)
}
