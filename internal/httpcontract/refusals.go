package httpcontract

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/guard"
)

// hold keeps a request of the caller's in flight until the test has ended.
func hold(t *testing.T, s *seawall.Stack) {
	t.Helper()
	a := s.Admit(t.Context(), &seawall.Request{Key: caller()})
	require.False(t, a.Decision().Denied)
	t.Cleanup(func() { a.Done(context.Background()) })
}

// gone is how a broken store fails.
func gone(context.Context) error { return errors.New("gone") }

// members are the names in a JSON object.
func members(t *testing.T, text string) []string {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &object), text)
	return slices.Sorted(maps.Keys(object))
}

func (a Adapter) refusals(t *testing.T) {
	t.Run("are problems", a.problems)
	t.Run("are answered by a hook", a.denyHook)
	t.Run("are seen by outer middleware", a.outerSees)
	t.Run("never reach the handler", a.handlerNeverRuns)
}

func (a Adapter) problems(t *testing.T) {
	for cause, c := range refusing(t) {
		t.Run(cause, func(t *testing.T) {
			s := a.behind(t, c.stack)
			got := s.do(t, "GET /")
			assert.Equal(t, c.want.Status, got.status)
			assert.Equal(t, []string{guard.MediaType}, got.header["Content-Type"])
			assert.Equal(t, []string{"no-store"}, got.header["Cache-Control"], "RFC 6585: a 429 is not cached")
			want := []string{"detail", "limiter", "policy", "status", "title", "type"}
			if c.want.Violated != nil {
				want = append(want, "violated-policies")
			}
			p := got.problem(t)
			if cause == "never" {
				assert.NotContains(t, got.header, "Retry-After", "waiting cannot help")
			} else {
				want = append(want, "retry_after")
				assert.Equal(t, []string{strconv.FormatInt(p.RetryAfter, 10)}, got.header["Retry-After"])
				assert.GreaterOrEqual(t, p.RetryAfter, int64(1))
				assert.LessOrEqual(t, p.RetryAfter, int64(2), "all of these wait a second, and shedders spread")
			}
			assert.ElementsMatch(t, want, members(t, got.body))
			assert.NotEmpty(t, p.Detail)
			p.Detail, p.RetryAfter = "", 0
			assert.Equal(t, c.want, p)

			head := s.do(t, "HEAD /")
			assert.Equal(t, got.status, head.status)
			assert.Empty(t, head.body)
			for _, name := range []string{"Content-Type", "Cache-Control"} {
				assert.Equal(t, got.header[name], head.header[name], name)
			}
			assert.Equal(t, got.header.Get("Retry-After") == "", head.header.Get("Retry-After") == "")
			assert.Equal(t, quotaFields(got.header), quotaFields(head.header))
		})
	}
}

func (a Adapter) denyHook(t *testing.T) {
	var told []string
	s := a.serve(t, App{Routes: one("/"), Guards: []Guard{{
		Stack: fixture.Limited(t, fixture.Policy("api", 1)), Identify: fixture.AsCaller,
		Deny: func(w http.ResponseWriter, r *http.Request, refusal *guard.Refusal) {
			told = append(told, r.Method+" "+refusal.Decision.Policy)
			assert.Empty(t, w.Header().Get("Content-Type"), "the hook's own")
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "not now")
		},
	}}})
	assert.Equal(t, "ok", s.do(t, "GET /").body)
	for _, request := range []string{"GET /", "POST /", "HEAD /"} {
		got := s.do(t, request)
		assert.Equal(t, http.StatusTeapot, got.status)
		assert.Equal(t, []string{"text/plain; charset=utf-8"}, got.header["Content-Type"])
		assert.Equal(t, "1", got.header.Get("Retry-After"), "the wait is in the headers whoever answers")
		assert.Len(t, quotaFields(got.header), 2)
		assert.Equal(t, map[bool]string{false: "not now"}[request == "HEAD /"], got.body)
	}
	assert.Equal(t, []string{"GET api", "POST api", "HEAD api"}, told)
}

func (a Adapter) outerSees(t *testing.T) {
	for cause, c := range refusing(t) {
		var saw []Seen
		s := a.serve(t, App{
			Routes: one("/"), Guards: []Guard{{Stack: c.stack, Identify: fixture.AsCaller}}, Recover: true,
			Outer: func(of Seen) { saw = append(saw, of) },
		})
		s.do(t, "GET /")
		require.Len(t, saw, 1)
		assert.Equal(t, c.want.Status, saw[0].Status, cause)
		if a.Returns {
			var refusal *guard.Refusal
			require.ErrorAs(t, saw[0].Err, &refusal, cause)
			assert.Equal(t, c.want.Policy, refusal.Decision.Policy)
		}
	}
}

func (a Adapter) handlerNeverRuns(t *testing.T) {
	for cause, c := range refusing(t) {
		s := a.serve(t, App{
			Routes: handled("/", func(http.ResponseWriter, *http.Request) error {
				t.Errorf("%s: the handler ran", cause)
				return nil
			}),
			Guards: []Guard{{Stack: c.stack, Identify: fixture.AsCaller}},
		})
		for _, request := range []string{"GET /", "HEAD /", "POST /"} {
			assert.Equal(t, c.want.Status, s.do(t, request).status, "%s %s", cause, request)
		}
	}
}
