package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/flags"
)

// blocks returns the fenced blocks of the README in the given language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	var found []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```\n").FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	require.NotEmpty(t, found)
	return found
}

// TestReadmeTranscripts runs the README's console sessions, in order, and compares what they print. The
// port and the date differ.
func TestReadmeTranscripts(t *testing.T) {
	_, err := exec.LookPath("curl")
	require.NoError(t, err, "make deps installs curl")
	i := start(t)
	date := regexp.MustCompile(`(?m)^Date: .*$`)
	for _, session := range blocks(t, "console") {
		for _, step := range strings.Split("\n"+session, "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			command = strings.ReplaceAll(command, "http://127.0.0.1:8080", i.url)
			out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
			require.NoError(t, err, command)
			got := strings.ReplaceAll(string(out), "\r\n", "\n")
			got, want = date.ReplaceAllString(got, "Date: now"), date.ReplaceAllString(want, "Date: now")
			assert.Equal(t, strings.TrimSpace(want), strings.TrimSpace(got), command)
		}
	}
}

func TestReadmeShowsTheQuickstart(t *testing.T) {
	code, err := os.ReadFile("../quickstart/main.go")
	require.NoError(t, err)
	assert.Equal(t, string(code), blocks(t, "go")[0])
	assert.Less(t, strings.Count(string(code), "\n"), 60)
}

func TestReadmeFlags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	require.NoError(t, os.WriteFile(path, []byte(blocks(t, "json")[0]), 0o600))
	f, err := flags.OpenFile(t.Context(), path, flags.Config{})
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, "log-only", f.Gate("ratelimit", "")(nil).String())
	assert.Equal(t, "enforce", f.Gate("fleetshed", "")(nil).String())
}
