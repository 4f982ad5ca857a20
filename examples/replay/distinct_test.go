package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAPageTakesThePlaceOfNothingThatIsRead however it is named.
func TestAPageTakesThePlaceOfNothingThatIsRead(t *testing.T) {
	text := combined(0, "192.0.2.1", "/")
	log := write(t, "log", text)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(log, link))
	policy := write(t, "policy.yaml", "version: 1\nratelimit:\n  - {name: a, bucket: {rate: 1/s, burst: 1}}\n")
	for _, args := range [][]string{
		{"-rate", "1", "-burst", "1", "-html", log, log},
		{"-rate", "1", "-burst", "1", "-html", link, log},
		{"-policy", policy, "-html", policy, log},
	} {
		_, err := printed(t, "", args...)
		require.ErrorContains(t, err, "flag -html: ", args)
		require.ErrorContains(t, err, "want another file", args)
	}
	kept, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, text, string(kept))

	stdin, err := os.Open(log)
	require.NoError(t, err)
	defer stdin.Close()
	err = run(t.Context(), []string{"-rate", "1", "-burst", "1", "-html", log, "-"}, stdin, &strings.Builder{}, nil)
	assert.ErrorContains(t, err, "want another file")
}

// TestALogThatIsThereTwiceIsRefused since it would count twice.
func TestALogThatIsThereTwiceIsRefused(t *testing.T) {
	log := write(t, "log", combined(0, "192.0.2.1", "/"))
	_, err := printed(t, "", "-rate", "1", "-burst", "1", log, filepath.Dir(log)+"/./log")
	assert.ErrorContains(t, err, "one file")
	_, err = printed(t, "", "-rate", "1", "-burst", "1", log, write(t, "log", combined(0, "192.0.2.1", "/")))
	assert.NoError(t, err, "another one that says the same")
}

// TestThePageIsWrittenBeforeTheTable since whoever reads that may go.
func TestThePageIsWrittenBeforeTheTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	log := write(t, "log", combined(0, "192.0.2.1", "/"))
	err := run(t.Context(), []string{"-rate", "1", "-burst", "1", "-html", file, log}, nil, gone{t, file}, nil)
	assert.ErrorIs(t, err, os.ErrClosed)
}

// gone is a reader who has gone.
type gone struct {
	t    *testing.T
	page string
}

func (g gone) Write([]byte) (int, error) {
	assert.FileExists(g.t, g.page)
	return 0, os.ErrClosed
}
