package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sessions returns what the README's console blocks show, by command.
func sessions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 40)
	found := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```console\n\\$ (.*?)\n(.*?)```\n").FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = m[2]
	}
	return found
}

func TestReadmeShowsTheFlags(t *testing.T) {
	var help output
	_, err := parse([]string{"-h"}, &help)
	require.Error(t, err)
	assert.Equal(t, help.String(), sessions(t)["go run ./examples/outbound -h"])
}

// TestReadmeShowsARun looks for the kinds of lines that the README shows: their number, their order among the
// workers and their numbers differ.
func TestReadmeShowsARun(t *testing.T) {
	t.Parallel()
	want := sessions(t)["go run ./examples/outbound -workers 2 -redis redis://127.0.0.1:6379"]
	require.NotEmpty(t, want)
	p := start(t, "-workers", "2", "-redis", newRedis(t), "-units", "4000")
	require.NoError(t, p.wait())
	assert.Subset(t, kinds(p.out.String()), kinds(strings.ReplaceAll(want, "…\n", "")))
}

func kinds(said string) []string {
	said = regexp.MustCompile(`\d+`).ReplaceAllString(said, "N")
	said = regexp.MustCompile(`a (search|list) costs`).ReplaceAllString(said, "a call costs")
	said = regexp.MustCompile(`(?m)N-N-N N:N .*$`).ReplaceAllString(said, "then")
	all := lines(said)
	slices.Sort(all)
	return slices.Compact(all)
}
