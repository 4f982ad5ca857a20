package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const docs = "../../docs"

// page returns what stands in algorithms.md.
func page(t *testing.T) string {
	t.Helper()
	return pageOf(t, "algorithms.md")
}

// pageOf returns what stands in a page.
func pageOf(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(docs, name))
	require.NoError(t, err)
	return string(b)
}

// TestCommitted fails if the rules or the shedder have come to decide otherwise than what is committed shows, or overload was
// measured again: then look at the new figures, and commit them if they are right. It starts a program of its own, since what
// the simulator plays takes ten times as long under the race detector.
func TestCommitted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range pages() {
		text, err := os.ReadFile(filepath.Join(docs, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "-buildvcs=false", ".", "-docs", dir).CombinedOutput()
	require.NoError(t, err, "go run: %s", out)
	for name, shownIn := range map[string]string{
		"algorithms.md": "", "img/traffic.svg": "algorithms.md", "img/edge.svg": "algorithms.md", "img/remaining.svg": "algorithms.md",
		"benchmarks.md": "", "img/growth.svg": "benchmarks.md",
		"overload.md": "", "img/overload.svg": "overload.md",
		"shedding.md": "", "img/shedding.svg": "shedding.md", "img/shedding-calm.svg": "shedding.md", "img/shedding-log-only.svg": "shedding.md",
	} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(docs, name))
		require.NoError(t, err)
		if !bytes.Equal(want, got) {
			t.Errorf("docs/%s is not what go run . writes", name)
		}
		if strings.HasSuffix(name, ".svg") {
			assert.Less(t, len(got), 60_000, "%s is for a page that loads fast", name)
			text, err := os.ReadFile(filepath.Join(docs, shownIn))
			require.NoError(t, err)
			assert.Equal(t, 1, strings.Count(string(text), "]("+name+")"), "%s shows %s", shownIn, name)
		}
	}
}

// says fails unless algorithms.md says so, wherever its lines are broken.
func says(t *testing.T, what string) {
	t.Helper()
	saysIn(t, "algorithms.md", what)
}

// saysIn fails unless a page says so, wherever its lines are broken. The whole of it would be too much for a failure's text.
func saysIn(t *testing.T, name, what string) {
	t.Helper()
	even := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if !strings.Contains(even(pageOf(t, name)), even(what)) {
		t.Errorf("docs/%s does not say:\n%s", name, what)
	}
}
