package playbook

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asPlayed compares the outputs and log lines of a page with those of another, which stands for what is printed.
func asPlayed(page, played *Page) error {
	var errs []error
	for i, step := range page.Steps {
		for j, b := range step.Blocks {
			other := played.Steps[i].Blocks[j]
			switch b.Language {
			case Console:
				want, err := b.Commands()
				got, _ := other.Commands()
				errs = append(errs, err)
				for k := range want {
					errs = append(errs, Compare(want[k].Output, got[k].Output))
				}
			case Log:
				if logged := strings.ReplaceAll("2027/01/02 09:10:07 "+other.Lines[0], "…", "ig2vizsjlmyx"); !Logged(b.Lines[0], []string{logged}) {
					errs = append(errs, fmt.Errorf("not logged: %s", b.Lines[0]))
				}
			}
		}
	}
	return errors.Join(errs...)
}

func TestASlowerMachineOnAnotherDayIsAsGood(t *testing.T) {
	t.Parallel()
	assert.NoError(t, asPlayed(parse(t, "testdata/page.md"), parse(t, "testdata/played.md")))
	assert.NoError(t, asPlayed(parse(t, "testdata/played.md"), parse(t, "testdata/page.md")))
}

// mutations of testdata/page.md, each of which makes it wrong: it has the first text, and the second in its place is none
// of what is printed.
var mutations = [][2]string{
	// Modes, layers, policies.
	{"ratelimit    off  ", "ratelimit    enforce  "},
	{"ratelimit    log-only", "ratelimit    enforce "},
	{"workershed   enforce  0  ", "workershed   log-only 0  "},
	{"fleetshed    enforce   34", "fleet        enforce   34"},
	{"ratelimit    api  ", "ratelimit    login  "},
	{"ratelimit:api (", "ratelimit:login ("},
	{"concurrency  in-flight  ", "concurrency  inflight  "},
	{"api          log-only  34", "api          both      34"},
	// Lines and columns.
	{"concurrency  enforce   34       0       0           0\n", ""},
	{"fleetshed    enforce   34       0       0           0\n", "fleetshed    enforce   34       0       0           0\nanother      enforce   34       0       0           0\n"},
	{"\n\n  CALLER  ", "\n  CALLER  "},
	{"WOULD REFUSE  SHARE", "WOULD-REFUSE  SHARE"},
	{"  would_deny  skipped", "  would-deny  skipped"},
	{"  PEAK/S\nconcurrency", "  PEAK\nconcurrency"},
	{"  skipped\n", "  skipped  errors\n"},
	{"REFUSED  WOULD REFUSE  OF THE LAST", "WOULD REFUSE  REFUSED  OF THE LAST"},
	// Where and who.
	{"/v1/charges  read", "/v1/charge  read"},
	{"/v1/reports  read", "/v1/reports  write"},
	{"/v1/charges  read  0        10\n  /v1/reports  read  0        4\n\n", "/v1/reports  read  0        10\n  /v1/charges  read  0        4\n\n"},
	{"ig2vizsjlmyx", "ig2vizsjlmyy"},
	{"Acme Inc.", "Acme"},
	// Numbers that are exact.
	{"     30 200", "     29 200"},
	{"     30 200", "     30 429"},
	{"      4 200", "      3 200\n      2 429"},
	{"     20 200\n     10 429", "     20 200\n     11 429"},
	{"     20 200\n     10 429", "     30 200"},
	{"     20 200\n     10 429", "     20 429\n     10 200"},
	{"log-only  20       0       14 ", "log-only  20       0       13 "},
	{"in-flight    enforce   34", "in-flight    enforce   35"},
	{"  20     34\n", "  21     34\n"},
	{"20 in 3m20s", "20 in 200s"},
	{"1 instance", "2 instances"},
	{"HTTP/1.1 429", "HTTP/1.1 503"},
	{"q=20;w=200", "q=20;w=20"},
	{"application/problem+json", "application/json"},
	// None where there are some, and some where there are none.
	{"log-only  20       0       14          0", "log-only  20       14      0           0"},
	{"0        14            41.2%  10", "0        14            0.0%   10"},
	{"  /v1/reports  read  0        4\n\n", "  /v1/reports  read  4        0\n\n"},
	{"  14      20     34", "  14      20     -"},
	{"34        0        0             0.0%   0\nfleet", "34        0        1             0.0%   0\nfleet"},
	{"at most 14 times", "at most 0 times"},
	// Log lines.
	{"would be refused layer", "refused layer"},
	{"rule=bucket", "rule=window"},
	{"mode=log-only", "mode=enforce"},
	{"limit=20 ", "limit=10 "},
	{" kept_back=0", ""},
	{"caller=… ", ""},
	{"caller=…", "caller=acme"},
}

func TestAWrongPageFails(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/page.md")
	require.NoError(t, err)
	played := parse(t, "testdata/played.md")
	for _, m := range mutations {
		before, after, found := strings.Cut(string(text), m[0])
		require.True(t, found, "the page does not have %q", m[0])
		page, err := ParsePage("page.md", before+m[1]+after)
		require.NoError(t, err)
		assert.Error(t, asPlayed(page, played), "%q for %q", m[1], m[0])
	}
}

func TestATableEndsWithABlankLine(t *testing.T) {
	t.Parallel()
	table := []string{"LAYER  REFUSED", "a      5", "", "b      5"}
	assert.NoError(t, Compare(table, []string{"LAYER  REFUSED", "a      6", "", "b  5", ""}))
	assert.Error(t, Compare(table, []string{"LAYER  REFUSED", "a      5", "", "b      6"}))
}

func TestALogLineIsLoggedAsAWhole(t *testing.T) {
	t.Parallel()
	const line = "INFO a retry_after=1s b=…"
	assert.True(t, Logged(line, []string{"", "2027/01/02 09:10:07 INFO a retry_after=2.5ms b=c"}))
	for _, other := range []string{
		"INFO a retry_after=1s b=c", "x 2027/01/02 09:10:07 INFO a retry_after=1s b=c",
		"2027/01/02 09:10:07 INFO a retry_after=1s b=c d", "2027/01/02 09:10:07 INFO a b=c",
	} {
		assert.False(t, Logged(line, []string{other}), other)
	}
}

// TestEveryWordOfAnOutputCounts is of the playbook, too. It changes each word of the outputs in turn, those without a digit, and repeats and leaves out
// each line.
func TestEveryWordOfAnOutputCounts(t *testing.T) {
	t.Parallel()
	n := 0
	for _, path := range []string{"testdata/page.md", playbook()} {
		for _, c := range commandsOf(t, path) {
			for i, line := range c.Output {
				n++
				wrong := slices.Insert(slices.Clone(c.Output), i, line+"x")
				assert.Error(t, Compare(wrong, c.Output), line)
				assert.Error(t, Compare(slices.Delete(slices.Clone(c.Output), i, i+1), c.Output), line)
				for word := range strings.FieldsSeq(line) {
					if strings.ContainsAny(word, "0123456789") || word == "GMT" {
						continue
					}
					wrong := slices.Clone(c.Output)
					wrong[i] = strings.Replace(line, word, word+"x", 1)
					assert.Error(t, Compare(wrong, c.Output), wrong[i])
				}
			}
		}
	}
	assert.Greater(t, n, 30, "lines")
}

// commandsOf returns all the commands of a page.
func commandsOf(t *testing.T, path string) []Command {
	t.Helper()
	var all []Command
	for _, step := range parse(t, path).Steps {
		for _, b := range step.Blocks {
			if b.Language == Console {
				commands, err := b.Commands()
				require.NoError(t, err)
				all = append(all, commands...)
			}
		}
	}
	return all
}
