package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// combined is a line of a log.
func combined(second int, address, path string) string {
	at := time.Date(2026, 11, 27, 18, 0, 0, 0, time.UTC).Add(time.Duration(second) * time.Second)
	return fmt.Sprintf("%s - - [%s] \"GET %s HTTP/1.1\" 200 5 \"-\" \"-\"\n", address, at.Format("02/Jan/2006:15:04:05 -0700"), path)
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// printed is what the program prints.
func printed(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, strings.NewReader(in), &out, io.Discard)
	return out.String(), err
}

// TestTheContract is what outside checks rely on.
func TestTheContract(t *testing.T) {
	log := combined(0, "192.0.2.1", "/a") + combined(0, "192.0.2.1", "/b") + "nonsense\n" + combined(0, "192.0.2.2", "/a") + combined(1, "192.0.2.1", "/a")
	out, err := printed(t, log, "-json", "-rate", "1/s", "-burst", "1", "-")
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	assert.InDelta(t, 4, got["requests"], 0)
	assert.InDelta(t, 1, got["bad_lines"], 0)
	policies, ok := got["policies"].([]any)
	require.True(t, ok)
	require.Len(t, policies, 1)
	p, ok := policies[0].(map[string]any)
	require.True(t, ok)
	assert.Equal(t, "rate", p["policy"])
	assert.InDelta(t, 1, p["refused"], 0)
	assert.InDelta(t, 1, p["callers_refused"], 0)
	top, ok := p["top"].([]any)
	require.True(t, ok)
	require.Len(t, top, 1)
	first, ok := top[0].(map[string]any)
	require.True(t, ok)
	assert.Equal(t, "192.0.2.1", first["caller"])
	assert.InDelta(t, 1, first["refused"], 0)
	assert.InDelta(t, 3, first["requests"], 0)
	assert.Equal(t, 1, strings.Count(out, "\n"), "one object, on one line")
}

// TestSeveralLogsAreOneTraffic when they are sorted: two servers' logs of the same hour.
func TestSeveralLogsAreOneTraffic(t *testing.T) {
	var a, b strings.Builder
	for i := range 3600 {
		a.WriteString(combined(i, "192.0.2.1", "/"))
		b.WriteString(combined(i, "192.0.2.1", "/"))
	}
	logs := []string{write(t, "a", a.String()), write(t, "b", b.String())}
	got := replayed(t, append([]string{"-rate", "2/s", "-burst", "2"}, logs...)...)
	assert.Zero(t, got.Policies[0].Refused, "two in each second")
	got = replayed(t, append([]string{"-rate", "2/s", "-burst", "2", "-order", "file"}, logs...)...)
	assert.EqualValues(t, 3599, got.Policies[0].Refused, "the clock stands still during the second log")
}

func TestAPolicyFileCountsByRouteAndCaller(t *testing.T) {
	policy := write(t, "policies.yaml", `
version: 1
ratelimit:
  - name: search
    bucket: {rate: 1/s, burst: 10}
    routes: [/v1/search]
    cost: {/v1/search: 5}
    overrides:
      - {caller: [user, bob], plan: allow}
  - name: items
    log: {limit: 1, window: 1m}
    routes: [/v1/items/:id]
    callers: anonymous
`)
	line := func(user, path string) string {
		return strings.Replace(combined(0, "192.0.2.1", path), "- -", "- "+user, 1)
	}
	var log strings.Builder
	for range 3 {
		log.WriteString(line("ann", "/v1/search?q=x") + line("bob", "/v1/search") + line("ann", "/v1/items/1") + line("-", "/v1/items/2") + line("-", "/v1/else"))
	}
	got := replayed(t, "-policy", policy, "-caller", "user", write(t, "log", log.String()))
	require.Len(t, got.Policies, 2)
	search, items := got.Policies[0], got.Policies[1]
	assert.Equal(t, []callerResult{{"user 49915e0d7d4b", 1, 3, 15}}, search.Top)
	assert.Equal(t, []routeResult{{"/v1/search", 1, 3}}, search.Routes)
	assert.EqualValues(t, 3, search.Requests, "bob's are not limited")
	assert.Equal(t, []callerResult{{"192.0.2.1", 2, 3, 0}}, items.Top)
	assert.Equal(t, []routeResult{{"/v1/items/:id", 2, 3}}, items.Routes)
	assert.EqualValues(t, 3, got.Refused)
}

// TestWhatOnePolicyRefusesIsNotChargedByAnother as where both are enforced.
func TestWhatOnePolicyRefusesIsNotChargedByAnother(t *testing.T) {
	policy := write(t, "policies.yaml", `
version: 1
ratelimit:
  - {name: short, bucket: {rate: 1/s, burst: 2}}
  - {name: long, log: {limit: 4, window: 1h}}
`)
	log := strings.Repeat(combined(0, "192.0.2.1", "/"), 10) + strings.Repeat(combined(10, "192.0.2.1", "/"), 3)
	got := replayed(t, "-policy", policy, write(t, "log", log))
	assert.EqualValues(t, 9, got.Refused, "two of the first, two of the second")
	assert.EqualValues(t, 9, got.Policies[0].Refused)
	assert.EqualValues(t, 1, got.Policies[1].Refused, "the last: by then four are spent")
}

// TestACapOnWhatIsInFlight holds slots as long as the log says that requests took.
func TestACapOnWhatIsInFlight(t *testing.T) {
	line := func(start, took float64) string {
		return fmt.Sprintf(`{"msec":%.3f,"request_time":%.3f,"remote_addr":"192.0.2.1","request":"GET / HTTP/1.1"}`+"\n", 1_800_000_000+start+took, took)
	}
	log := line(0, 1) + line(0.1, 1) + line(0.2, 1) + line(1.05, 1) + line(1.2, 1) + line(1.3, 1)
	got := replayed(t, "-in-flight", "2", write(t, "log", log))
	require.Len(t, got.Policies, 1)
	assert.Equal(t, "concurrency", got.Policies[0].Layer)
	assert.EqualValues(t, 2, got.Policies[0].Refused, "the third, and the last: two of those before are still there")
	assert.EqualValues(t, 3, got.InFlight.Peak)
}

func TestWhatIsWrongWithLogsIsSaid(t *testing.T) {
	good := write(t, "good", combined(0, "192.0.2.1", "/"))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(strings.Repeat(combined(0, "192.0.2.1", "/"), 20_000)))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	cut := write(t, "cut.gz", packed.String()[:packed.Len()/2])
	for name, c := range map[string]struct {
		args []string
		says string
		out  string
	}{
		"not there":           {[]string{"no-such-file", good}, "no-such-file", "1 requests"},
		"nothing is there":    {[]string{"no-such-file"}, "no-such-file", ""},
		"another format":      {[]string{"-format", "haproxy", good}, "-format combined", ""},
		"no log":              {[]string{write(t, "text", "this is\nno log\n")}, "text", ""},
		"empty":               {[]string{write(t, "empty", "")}, "empty", ""},
		"cut off":             {[]string{cut}, "cut.gz", "requests of 1 callers"},
		"fields of combined":  {[]string{"-caller", "field:key", good}, "key", ""},
		"a folder":            {[]string{t.TempDir()}, "", ""},
		"a page in no folder": {[]string{"-html", "/no/such/folder/page.html", good}, "-html", "1 requests"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := printed(t, "", append([]string{"-rate", "1/s", "-burst", "5"}, c.args...)...)
			require.Error(t, err)
			assert.ErrorContains(t, err, c.says)
			assert.Contains(t, out, c.out)
		})
	}
}

// TestCtrlCPrintsWhatIsKnown also if standard input says nothing more.
func TestCtrlCPrintsWhatIsKnown(t *testing.T) {
	for _, order := range []string{inFileOrder, sorted} {
		for _, lines := range []int{5, 50_000} { // fewer than it takes to recognise the format, and more
			synctest.Test(t, func(t *testing.T) {
				in, w := io.Pipe()
				ctx, stop := context.WithCancel(t.Context())
				go func() {
					_, _ = io.WriteString(w, strings.Repeat(combined(0, "192.0.2.1", "/"), lines))
					synctest.Wait() // until all of it is read
					stop()
				}()
				var out bytes.Buffer
				require.NoError(t, run(ctx, []string{"-rate", "1/s", "-burst", "5", "-order", order, "-"}, in, &out, io.Discard))
				assert.Contains(t, out.String(), "STOPPED")
				assert.True(t, strings.HasPrefix(out.String(), fmt.Sprintf("%d requests", lines)), "%.100s", out.String())
				require.NoError(t, w.Close())
			})
		}
	}
}

// TestThePageNeedsNothingElse and escapes what callers have sent.
func TestThePageNeedsNothingElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	log := strings.Repeat(combined(0, "<script>alert(1)</script>", "/<b>/x"), 9) + "<i>bad</i>\n"
	_, err := printed(t, log, "-rate", "1/s", "-burst", "5", "-html", file, "-")
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	page := string(text)
	assert.Equal(t, 2, strings.Count(page, "<svg "), "over time, and by burst")
	assert.Contains(t, page, "&lt;script&gt;alert(1)")
	for _, no := range []string{"<script", "<b>/x", "<i>bad", "src=", "href=", "url(", "@import"} {
		assert.NotContains(t, page, no)
	}
	assert.Equal(t, strings.Count(page, "http"), strings.Count(page, "http://www.w3.org/"), "names of namespaces are not fetched")
}

// TestATableHoldsNoControlCharacters whatever a log holds.
func TestATableHoldsNoControlCharacters(t *testing.T) {
	log := strings.Repeat(combined(0, "\x1b[31mred", "/\x1b[2J/x"), 9) + "\x1b]0;bad\a\n"
	out, err := printed(t, log, "-rate", "1/s", "-burst", "5", "-")
	require.NoError(t, err)
	assert.NotContains(t, out, "\x1b")
	assert.NotContains(t, out, "\a")
}
