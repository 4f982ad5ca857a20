package faults

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// document is where it is in a checkout.
const document = "../../docs/faults.md"

// peers is the part of the document that the benchmarks fill in.
var peers = regexp.MustCompile(`(?s)<!-- peers -->.*<!-- /peers -->`)

//go:embed testdata/introduction.md
var introduction string

// writeDocument writes the page about a long run, and keeps what others have written into it.
func writeDocument(t *testing.T, path string, rows map[int]*row) {
	t.Helper()
	kept := "<!-- peers -->\n<!-- /peers -->"
	if old, err := os.ReadFile(path); err == nil {
		if part := peers.Find(old); part != nil {
			kept = string(part)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", introduction, environment(t, rows))
	b.WriteString("## Scoreboard\n\n| figure | promised | measured | kept |\n|---|---|---|---|\n")
	for _, f := range scoreboard(rows) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.name, f.promised, f.measured, yes(f.kept))
	}
	fmt.Fprintf(&b, "\n%s\n\n## The catalogue\n\n", kept)
	b.WriteString("\"tested\" is left to the tests that are named; \"later\" names what is missing to play it with, and \"not run here\" why\n" +
		"this machine could not.\n\n")
	b.WriteString("| | fault | injection | promise | measured | kept |\n|---|---|---|---|---|---|\n")
	for _, f := range catalogue() {
		fmt.Fprintf(&b, "%s %s | %s | %s |\n", f.head(), f.injection, f.promise, f.result(rows[f.number]))
	}
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
}

// head is the beginning of the fault's line in the document.
func (f *fault) head() string { return fmt.Sprintf("| %d | %s |", f.number, f.name) }

// result is its end.
func (f *fault) result(r *row) string {
	switch {
	case f.later != "":
		return "needs " + f.later + " | later"
	case r.absent != "":
		return r.absent + " | not run here"
	case f.tests != nil:
		return "`" + strings.Join(f.tests, "`, `") + "` | tested"
	}
	return strings.Join(r.measured, "<br>") + " | " + yes(r.held)
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "**no**"
}

// environment says on what it was measured.
func environment(t *testing.T, rows map[int]*row) string {
	t.Helper()
	out, err := exec.Command(redistest.Binary(t), "--version").Output()
	require.NoError(t, err)
	version := regexp.MustCompile(`v=(\S+)`).FindSubmatch(out)
	require.NotNil(t, version, "%s", out)
	var pauses time.Duration
	for _, r := range rows {
		for _, o := range r.outages {
			pauses = max(pauses, o.pauses)
		}
	}
	return fmt.Sprintf("Measured with %d processors, %s/%s, %s, Redis %s, all on one machine. Its own pauses: in the worst of the runs below,\n"+
		"a goroutine that sleeps for 1 ms slept up to %s longer in 99 of 100 cases.",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), version[1], text(pauses))
}

// TestDocumentNamesEveryFault asserts that the committed document is about this catalogue.
func TestDocumentNamesEveryFault(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(document)
	require.NoError(t, err)
	for _, f := range catalogue() {
		line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(f.head()) + `.*$`).FindString(string(page))
		if assert.NotEmpty(t, line, "docs/faults.md has no line %s; make faults writes it", f.head()) {
			assert.Contains(t, line, f.injection)
			assert.Contains(t, line, f.promise)
		}
	}
}

// TestDocumentKeepsWhatOthersWrote writes a page over one into which the benchmarks have written.
func TestDocumentKeepsWhatOthersWrote(t *testing.T) {
	t.Parallel()
	redistest.Binary(t)
	rows := map[int]*row{}
	for _, f := range catalogue() {
		rows[f.number] = &row{ran: true, measured: []string{"one", "two"}}
	}
	const table = "<!-- peers -->\n| peer | $1 |\n<!-- /peers -->"
	path := filepath.Join(t.TempDir(), "faults.md")
	require.NoError(t, os.WriteFile(path, []byte("# An old page\n\n"+table+"\nan old table"), 0o600))
	writeDocument(t, path, rows)
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(page), table)
	assert.Contains(t, string(page), "one<br>two | **no** |")
	assert.NotContains(t, string(page), "n old")
}
