package playbook

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parse reads a page.
func parse(t *testing.T, path string) *Page {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	p, err := ParsePage(strings.TrimPrefix(path, top+"/"), string(text))
	require.NoError(t, err)
	return p
}

func TestAPageHasSteps(t *testing.T) {
	t.Parallel()
	p := parse(t, "testdata/page.md")
	require.Len(t, p.Steps, 3)
	var kinds [][]string
	for _, step := range p.Steps {
		var in []string
		for _, b := range step.Blocks {
			in = append(in, b.Language)
		}
		kinds = append(kinds, in)
	}
	assert.Equal(t, [][]string{{JSON, Console}, {JSON, Console, Log, PromQL}, {JSON, Console, YAML, Go}}, kinds)
	assert.Equal(t, "2. Log-only", p.Steps[1].Title)

	commands, err := p.Steps[0].Blocks[1].Commands()
	require.NoError(t, err)
	require.Len(t, commands, 2)
	assert.Equal(t, "testdata/page.md:14", commands[0].At)
	assert.Equal(t, "go run ./examples/payments -flags flags.json \\\n    -rate 0.1 -burst 20", commands[0].Text)
	assert.Equal(t, []string{"payments: listening on http://127.0.0.1:8080"}, commands[0].Output)
	assert.Len(t, commands[1].Output, 5)
}

func TestWhatIsWrongWithAPageIsNamedByItsLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ page, want string }{
		{"a\n```sh\nls\n```\n", `p.md:2: a block in "sh"; want one of json, `},
		{"a\n```\nls\n```\n", `p.md:2: a block in ""; want`},
		{"a\n```json\n{}\n", "p.md:2: the block that begins here does not end"},
		{"a\n```json\n{}\n```json\n", "p.md:2: the block that begins here does not end"},
		{"* a\n  ```json\n  {}\n  ```\n", "p.md:2: a fence of another kind"},
		{"~~~json\n{}\n~~~\n", "p.md:1: a fence of another kind"},
		{"```json\n\n```\n", "p.md:1: an empty block"},
		{"```console\nls\n$ ls\n```\n", `p.md:2: output before a command: "ls"`},
		{"```console\n$ ls \\\n```\n", "p.md:2: the command does not end"},
		{"```go\nx := (\n```\n", "p.md:1: it does not parse"},
		{"# a\n", "p.md: no blocks"},
	} {
		_, err := ParsePage("p.md", c.page)
		assert.ErrorContains(t, err, c.want, c.page)
	}
}
