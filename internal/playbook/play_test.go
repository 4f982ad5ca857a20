package playbook

import (
	"cmp"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What pages may run of this repository.
const (
	payments  = "go run ./examples/payments"
	reportCmd = "go run ./examples/report"
)

// playbook is the page, or the draft that a variable names.
func playbook() string { return cmp.Or(os.Getenv("SEAWALL_PLAYBOOK"), top+"/docs/dark-launch.md") }

// TestThePlaybook plays docs/dark-launch.md.
func TestThePlaybook(t *testing.T) {
	t.Parallel()
	p := play(t, playbook())
	assert.NotEmpty(t, p.alerts, "the page has no alerts")
}

// TestASmallPage plays a page of each kind of block, which is here for the machinery's own sake.
func TestASmallPage(t *testing.T) {
	t.Parallel()
	p := play(t, "testdata/page.md")
	assert.Len(t, p.alerts, 1)
	assert.Positive(t, p.commands)
}

// player is what has happened of a page so far.
type player struct {
	dir        string    // where flags.json is
	instance   *instance // nil until the page has started it
	prometheus *Prometheus
	history    *History
	scrapes    []Scrape
	alone      Scrape // of an instance without its Redis
	alerts     []rulefmt.Rule
	commands   int
}

// play runs the blocks of a page in order, and then its alerts.
func play(t *testing.T, path string) *player {
	t.Helper()
	page := parse(t, path)
	p := &player{dir: t.TempDir(), prometheus: NewPrometheus(), history: NewHistory(), alone: withoutRedis(t)}
	defer p.prometheus.Close()
	for _, step := range page.Steps {
		for _, b := range step.Blocks {
			p.block(t, b)
		}
	}
	require.NotNil(t, p.instance, "the page starts nothing")
	for _, line := range p.instance.logged(t) {
		for _, level := range []string{" WARN ", " ERROR "} {
			assert.NotContains(t, line, level, "logged while the page was played")
		}
	}
	p.raise(t)
	return p
}

// block plays a block.
func (p *player) block(t *testing.T, b Block) {
	t.Helper()
	switch b.Language {
	case JSON:
		if p.instance == nil {
			write(t, p.dir, b.Text())
		} else {
			p.instance.follow(t, p.dir, b.Text())
		}
	case Console:
		commands, err := b.Commands()
		require.NoError(t, err)
		for _, c := range commands {
			p.command(t, c)
		}
	case Log:
		require.NotNil(t, p.instance, "%s: nothing has been started", b.At(0))
		for i, line := range b.Lines {
			log := p.instance.logged(t)
			assert.True(t, Logged(line, log), "%s: this has not been logged:\n%s\nbut:\n%s", b.At(i), line, strings.Join(log, "\n"))
		}
	case PromQL:
		p.query(t, b)
	case YAML:
		alerts, err := b.Alerts()
		require.NoError(t, err)
		p.alerts = append(p.alerts, alerts...)
	}
}

// command runs a command, compares what it prints, and lets Prometheus see what it has done.
func (p *player) command(t *testing.T, c Command) {
	t.Helper()
	p.commands++
	if args, ok := strings.CutPrefix(c.Text, payments); ok {
		require.Nil(t, p.instance, "%s: it runs already", c.At)
		require.NotContains(t, args, "-addr", "%s: the page's address is the default one", c.At)
		p.instance = launch(t, p.dir, strings.Fields(strings.ReplaceAll(args, "\\\n", " "))...)
		if len(c.Output) > 0 {
			assert.NoError(t, Compare(c.Output, []string{p.onThePage(p.instance.greeted)}), "%s: $ %s", c.At, c.Text)
		}
		p.scraped(t, 10*time.Minute)
		return
	}
	require.NotNil(t, p.instance, "%s: nothing has been started; want %s first", c.At, payments)
	script := strings.ReplaceAll(c.Text, reportCmd, filepath.Join(binaries, "report"))
	script = strings.ReplaceAll(script, "http://"+pageAddress, p.instance.url)
	require.NotContains(t, script, "go run", "%s: neither %s nor %s", c.At, payments, reportCmd)
	require.NotContains(t, script, pageAddress, "%s: want http://%s", c.At, pageAddress)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: $ %s\n%s", c.At, c.Text, out)
	assert.NoError(t, Compare(c.Output, strings.Split(p.onThePage(string(out)), "\n")), "%s: $ %s", c.At, c.Text)
	p.scraped(t, time.Minute)
}

// onThePage is an output with the page's address.
func (p *player) onThePage(output string) string {
	return strings.ReplaceAll(output, p.instance.url, "http://"+pageAddress)
}

// scraped lets so much of the made-up time go by.
func (p *player) scraped(t *testing.T, during time.Duration) {
	t.Helper()
	s := p.instance.scrape(t)
	p.scrapes = append(p.scrapes, s)
	p.history.Scraped(s, during)
}

// query evaluates a query now.
func (p *player) query(t *testing.T, b Block) {
	t.Helper()
	require.NotNil(t, p.instance, "%s: nothing has been started", b.At(0))
	require.NoError(t, NamesOf(p.scrapes...).Check(b.Text()), b.At(0))
	answer, err := p.prometheus.Query(t.Context(), p.history, b.Text())
	require.NoError(t, err, b.At(0))
	assert.NotEmpty(t, answer, "%s: there is no answer", b.At(0))
	for _, sample := range answer {
		assert.False(t, math.IsNaN(sample.F), "%s: %s", b.At(0), sample)
	}
	t.Logf("%s:\n%s", b.At(0), answer)
}
