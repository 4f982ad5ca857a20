package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	root  = "../.."
	guide = root + "/docs/replay.md"
)

// console is a command of the page, and what it prints.
var console = regexp.MustCompile("(?s)```console\n\\$ go run ./examples/replay ([^\n]*)\n(.*?)```") //nolint:gochecknoglobals // a constant

// TestTheDocumentation runs the page's commands in the repository's root, in order, and compares what they print; with -update it
// writes that into the page.
func TestTheDocumentation(t *testing.T) {
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	policy, err := os.ReadFile("testdata/shop.yaml")
	require.NoError(t, err)
	assert.Contains(t, string(text), "```yaml\n"+string(policy)+"```")
	abs, err := filepath.Abs(root)
	require.NoError(t, err)
	report := filepath.Join(t.TempDir(), "report.html")
	t.Chdir(abs)
	ran := 0
	got := console.ReplaceAllStringFunc(string(text), func(block string) string {
		command := console.FindStringSubmatch(block)[1]
		ran++
		args := strings.Fields(strings.ReplaceAll(command, "report.html", report))
		var out bytes.Buffer
		require.NoError(t, run(context.Background(), args, nil, &out, &out), command)
		return "```console\n$ go run ./examples/replay " + command + "\n" + out.String() + "```"
	})
	assert.Equal(t, 3, ran)
	same(t, filepath.Join(abs, "docs/replay.md"), got)

	html, err := os.ReadFile(report)
	require.NoError(t, err)
	pictures := regexp.MustCompile("(?s)<svg.*?</svg>").FindAllString(string(html), -1)
	require.Len(t, pictures, 2)
	for i, name := range []string{"replay-time", "replay-bursts"} {
		same(t, filepath.Join(abs, "docs/img", name+".svg"), pictures[i]+"\n")
	}
}

// same asserts that a file holds the text, or makes it so.
func same(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o600))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, want == string(got), "%s is not what the program makes; -update writes it:\n%s", file, want) //nolint:testifylint // the texts are long
}
