package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	peerTest = regexp.MustCompile(`(?m)^func TestPeer_([a-zA-Z0-9_]+)\(`)
	peerName = regexp.MustCompile("`([a-z0-9_]+_[a-zA-Z0-9]+)`")
	peerCase = regexp.MustCompile(`(?m)^\| (\d+) \|`)
)

// TestPeers compares the names of the tests in the table of the page with those in the code.
func TestPeers(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(page(t), "## Wrong results seen elsewhere")
	require.True(t, found)
	assert.Len(t, peerCase.FindAllString(table, -1), 62, "cases")
	told := map[string]bool{}
	for _, m := range peerName.FindAllStringSubmatch(table, -1) {
		told[m[1]] = true
	}
	written := map[string]bool{}
	require.NoError(t, filepath.WalkDir(filepath.Join(docs, ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, m := range peerTest.FindAllSubmatch(code, -1) {
			written[string(m[1])] = true
		}
		return err
	}))
	for name := range told {
		assert.True(t, written[name], "TestPeer_%s is in the table, and not in the code", name)
	}
	for name := range written {
		assert.True(t, told[name], "TestPeer_%s is in the code, and not in the table", name)
	}
	require.NotEmpty(t, written)
}
