package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoKeyAndNoUserIsShown not even of a line that is no request.
func TestNoKeyAndNoUserIsShown(t *testing.T) {
	line := `{"time":"2026-11-27T18:00:00Z","remote_addr":"192.0.2.1","remote_user":"s3cret","key":"s3cret"}` + "\n"
	log := strings.Repeat(line, 3) + line[:len(line)-9] + "\n" + strings.Replace(line, "2026", "year", 1)
	for _, by := range []string{"user", "field:key"} {
		for _, more := range []string{"-json", "-top=9"} {
			out, err := printed(t, log, "-rate", "1/m", "-burst", "1", "-caller", by, more, "-")
			require.NoError(t, err)
			assert.NotContains(t, out, "s3cret")
			assert.Contains(t, out, map[string]string{"user": "user ", "field:key": "key "}[by]+hash("s3cret"))
		}
	}
}

// TestRequestsThatDoNotSayWhoAsksAreCounted or a field with a wrong name would count for addresses, and nobody would know.
func TestRequestsThatDoNotSayWhoAsksAreCounted(t *testing.T) {
	line := `{"time":"2026-11-27T18:00:00Z","remote_addr":"192.0.2.1","key":"a"}` + "\n"
	for by, want := range map[string]string{"field:key": "2 of 2 requests have", "field:kye": "0 of 2 requests have", "user": "0 of 2 requests have"} {
		out, err := printed(t, line+line, "-rate", "1/m", "-burst", "1", "-caller", by, "-")
		require.NoError(t, err)
		assert.Contains(t, out, want)
	}
	out, err := printed(t, line, "-rate", "1/m", "-burst", "1", "-")
	require.NoError(t, err)
	assert.NotContains(t, out, "-caller")
}

// TestAPolicyThatDecidedAboutNothingSaysSo rather than that it would have refused nobody.
func TestAPolicyThatDecidedAboutNothingSaysSo(t *testing.T) {
	out, err := printed(t, combined(0, "192.0.2.1", "/"), "-in-flight", "1", "-")
	require.NoError(t, err)
	assert.Contains(t, out, "in-flight: the logs do not say how long requests took")
	policy := write(t, "policy.yaml", "version: 1\nratelimit:\n  - {name: a, bucket: {rate: 1/s, burst: 1}, routes: [/elsewhere]}\n")
	out, err = printed(t, combined(0, "192.0.2.1", "/"), "-policy", policy, "-")
	require.NoError(t, err)
	assert.Contains(t, out, "a: it is about none of these requests")
}

// TestCallersOfWhomNoBurstIsKnownAreLeftOut and told: no burst lets a blocked caller through.
func TestCallersOfWhomNoBurstIsKnownAreLeftOut(t *testing.T) {
	policy := write(t, "policy.yaml", `
version: 1
ratelimit:
  - name: a
    bucket: {rate: 1/s, burst: 9}
    overrides: [{caller: [address, 192.0.2.1], plan: block}]
  - name: b
    window: {limit: 1, every: day}
    routes: [/dear]
    cost: 2
`)
	got := replayed(t, "-policy", policy, write(t, "log", combined(0, "192.0.2.1", "/")+strings.Repeat(combined(0, "192.0.2.2", "/dear"), 2)))
	assert.Equal(t, &enough{0.01, 2, 2, 1}, got.Policies[0].Enough)
	assert.Equal(t, []callerResult{{"192.0.2.1", 1, 1, 0}}, got.Policies[0].Top)
	assert.Equal(t, []callerResult{{"192.0.2.2", 2, 2, 4}}, got.Policies[1].Top, "the window is known although nothing is ever spent in it")
	out, err := printed(t, "", "-policy", policy, write(t, "log", combined(0, "192.0.2.1", "/")+combined(0, "192.0.2.2", "/")))
	require.NoError(t, err)
	assert.Contains(t, out, "would refuse nobody, leaving out 1 callers")
}

// TestSharesAreExact although they are floats.
func TestSharesAreExact(t *testing.T) {
	assert.Equal(t, "7%", shareText(0.07))
	assert.Equal(t, "0.1%", shareText(0.001))
	for percent := range 101 {
		assert.Equal(t, percent, portion(float64(percent)/100, 100))
		assert.Equal(t, percent*3/100, portion(float64(percent)/100, 3))
	}
}

// TestOneTimeStampAheadOfAllIsGuessed where many are late, since nothing is put in order behind it.
func TestOneTimeStampAheadOfAllIsGuessed(t *testing.T) {
	log := combined(40_000, "192.0.2.1", "/") + strings.Repeat(combined(1, "192.0.2.1", "/")+combined(0, "192.0.2.1", "/"), 10)
	page := filepath.Join(t.TempDir(), "page.html")
	const guess = "is a time stamp far ahead of the others?"
	out, err := printed(t, log, "-rate", "1/m", "-burst", "1", "-html", page, "-")
	require.NoError(t, err)
	assert.Contains(t, out, "10 requests came later than the window")
	assert.Contains(t, out, guess)
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.True(t, strings.Contains(string(html), guess), "on the page, too") //nolint:testifylint // which would print all of it
}
