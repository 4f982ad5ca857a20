package policyfile_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/ratelimit/policyfile"
	"github.com/seawall-go/seawall/store/memstore"
)

// service is a limiter with a store whose clock stands still unless it is set.
type service struct {
	t       *testing.T
	limiter *ratelimit.Limiter
	store   *memstore.Store
	now     time.Time
}

func newService(t *testing.T, file string) *service {
	t.Helper()
	s := &service{t: t, now: time.Unix(1_800_000_000, 0)}
	var err error
	s.limiter, err = ratelimit.New(ratelimit.Config{Policies: parse(t, file).Policies()})
	require.NoError(t, err)
	s.store = memstore.New(memstore.Config{Now: func() time.Time { return s.now }})
	t.Cleanup(func() { assert.NoError(t, s.store.Close(context.Background())) })
	return s
}

func parse(t *testing.T, text string) *policyfile.File {
	t.Helper()
	f, err := policyfile.Parse("policies.yaml", []byte(text))
	require.NoError(t, err)
	return f
}

func (s *service) reload(text string) {
	s.t.Helper()
	require.NoError(s.t, s.limiter.Reload(parse(s.t, text).Policies()))
}

// ask is a request of a user, and returns the answers by policy.
func (s *service) ask(user string) map[string]seawall.Result {
	s.t.Helper()
	checks := s.limiter.Plan(nil, request(user))
	results, err := s.store.Apply(s.t.Context(), nil, checks)
	require.NoError(s.t, err)
	answers := map[string]seawall.Result{}
	for i, c := range checks {
		answers[c.Limit.Policy()] = results[i]
	}
	return answers
}

func TestAReloadForgivesNothing(t *testing.T) {
	t.Parallel()
	file := func(changed string) string {
		return head + "  - {name: same, log: {limit: 100, window: 1h}}\n" +
			"  - {name: budget, window: {limit: 50, every: month, zone: America/Los_Angeles}}\n" +
			"  - {name: changed, " + changed + "}\n"
	}
	s := newService(t, file("bucket: {rate: 10/s, burst: 20}"))
	for range 10 {
		s.ask("42")
	}
	s.reload(file("bucket: {rate: 20/s, burst: 40}")) // a debt of one second is 20 of them now
	a := s.ask("42")
	assert.EqualValues(t, 89, a["same"].Remaining)
	assert.EqualValues(t, 39, a["budget"].Remaining)
	assert.EqualValues(t, 19, a["changed"].Remaining)
	assert.Equal(t, 1050*time.Millisecond, a["changed"].ResetAfter)

	s.reload(file("counter: {limit: 40, window: 1m}")) // another algorithm begins anew
	a = s.ask("42")
	assert.EqualValues(t, 88, a["same"].Remaining)
	assert.EqualValues(t, 39, a["changed"].Remaining)

	s.reload(head + "  - {name: same, log: {limit: 12, window: 1h}}\n")
	a = s.ask("42")
	require.Len(t, a, 1)
	assert.False(t, a["same"].Admitted, "12 of 12 were spent under the limit of 100")
}

func TestAnOverrideCountsFromTheNextRequest(t *testing.T) {
	t.Parallel()
	file := func(overrides string) string {
		return one("plans: {gold: {bucket: {rate: 100/s, burst: 200}}}", "overrides: ["+overrides+"]")
	}
	s := newService(t, file(""))
	for range 20 {
		s.ask("42")
	}
	require.False(t, s.ask("42")["api"].Admitted)
	s.reload(file(`{caller: [user, "42"], plan: gold}`)) // two seconds of debt, of which the new burst takes two
	require.False(t, s.ask("42")["api"].Admitted)
	s.now = s.now.Add(10 * time.Millisecond)
	assert.True(t, s.ask("42")["api"].Admitted)
	assert.EqualValues(t, 20, s.ask("43")["api"].Limit)
	s.reload(file(`{caller: [user, "42"], plan: allow}, {caller: [user, "43"], plan: block}`))
	assert.Empty(t, s.ask("42"))
	assert.Equal(t, seawall.Never, s.ask("43")["api"].RetryAfter)
	s.reload(file(""))
	assert.EqualValues(t, 18, s.ask("43")["api"].Remaining, "a block cost nothing")
}

func TestReloadsWhileRequestsAreDecided(t *testing.T) {
	t.Parallel()
	file := func(burst int) string {
		return head + fmt.Sprintf("  - {name: changed, bucket: {rate: 1/h, burst: %d}, cost: {/a: 2, \"*\": 1}}\n", burst) +
			"  - name: same\n    bucket: {rate: 1/h, burst: 100}\n    overrides: [{caller: nobody, plan: block}]\n"
	}
	s := newService(t, file(1000))
	files := [2]*policyfile.File{parse(t, file(1000)), parse(t, file(2000))}
	var all sync.WaitGroup
	var mu sync.Mutex
	admitted := 0
	for range 4 {
		all.Go(func() {
			for range 50 {
				results, err := s.store.Apply(context.Background(), nil, s.limiter.Plan(nil, request("42")))
				if !assert.NoError(t, err) || !assert.Len(t, results, 2) {
					return
				}
				assert.Contains(t, []int64{1000, 2000}, results[0].Limit)
				if results[0].Committed && results[1].Committed {
					mu.Lock()
					admitted++
					mu.Unlock()
				}
			}
		})
	}
	all.Go(func() {
		for i := range 200 {
			assert.NoError(t, s.limiter.Reload(files[i%2].Policies()))
		}
	})
	all.Wait()
	assert.Equal(t, 100, admitted, "of 200 requests, however often the file was reloaded")
}
