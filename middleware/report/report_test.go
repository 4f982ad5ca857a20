package report_test

import (
	"context"
	"encoding/json"
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

LAYER      POLICY  REQUESTS  REFUSED  WOULD REFUSE  SHARE  PEAK/S
ratelimit  api     15        0        7             46.7%  6

ratelimit:api (token bucket, 4 in 4s), first 2026-11-30 10:00:00, last 2026-11-30 10:01:30
  ROUTE        TIER   REFUSED  WOULD REFUSE
  /v1/charges  write  0        6
  (unmatched)  read   0        1

  CALLER        NAME       REFUSED  WOULD REFUSE  OF THE LAST  FIRST                LAST                 PEAK/S  LIMIT  ENOUGH
  `+id("a")+`  Acme?[2J?  0        6             6            2026-11-30 10:00:00  2026-11-30 10:00:00  6       4      10
  `+id("b")+`  -          0        1             1            2026-11-30 10:01:30  2026-11-30 10:01:30  1       4      5
`, b.String())
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
	assert.Contains(t, top, "who is not listed has been refused 1 times at most")
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
	for _, n := range []int{-1, 65_537} {
		_, err := report.New(report.Config{Callers: n})
		require.ErrorContains(t, err, "report: Config.Callers is")
		require.ErrorContains(t, err, "want 1 to 65536, or zero for 256")
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
