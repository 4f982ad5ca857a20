package main

import (
	"bytes"
	"os"
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
	b, err := os.ReadFile(filepath.Join(docs, "algorithms.md"))
	require.NoError(t, err)
	return string(b)
}

// TestCommitted fails if the rules have come to answer otherwise than what is committed shows, or overload was measured
// again: then look at the new figures, and commit them if they are right.
func TestCommitted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range pages() {
		text, err := os.ReadFile(filepath.Join(docs, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	require.NoError(t, write(dir))
	for name, shownIn := range map[string]string{
		"algorithms.md": "", "img/traffic.svg": "algorithms.md", "img/edge.svg": "algorithms.md", "img/remaining.svg": "algorithms.md",
		"overload.md": "", "img/overload.svg": "overload.md",
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

// says fails unless algorithms.md says so, wherever its lines are broken. The whole of it would be too much for
// a failure's text.
func says(t *testing.T, what string) {
	t.Helper()
	even := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if !strings.Contains(even(page(t)), even(what)) {
		t.Errorf("docs/algorithms.md does not say:\n%s", what)
	}
}
