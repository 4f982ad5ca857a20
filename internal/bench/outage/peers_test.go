package outage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zeromicro/go-zero/core/logx"

	"github.com/seawall-go/seawall/internal/openloop"
	"github.com/seawall-go/seawall/internal/redistest"
)

// docEnv names the environment variable with the document that TestPeersInAnOutage writes its tables into.
const docEnv = "SEAWALL_OUTAGE_DOC"

// Between these the document has what is measured.
const (
	opening = "<!-- peers -->\n"
	closing = "<!-- /peers -->\n"
)

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // clients report every connection that breaks
	logx.Disable()
	os.Exit(m.Run())
}

var (
	short = schedule{warmUp: 300 * time.Millisecond, before: 700 * time.Millisecond, away: time.Second, after: 2 * time.Second}
	// In the middle of a second: go-redis dials an address that is dead once a second since it died.
	long = schedule{warmUp: time.Second, before: 1500 * time.Millisecond, away: 4500 * time.Millisecond, after: 3 * time.Second}
)

func TestSeawallAnswersWhileRedisIsFrozen(t *testing.T) {
	const wait = 100 * time.Millisecond // so that it takes a frozen Redis for away, not a busy machine
	r := measure(t, candidate{"Seawall", buildSeawall(wait)}, frozen, short)
	all := r.count(0, short.total(), r.decided)
	assert.Equal(t, all.all, all.of, "requests with a decision")
	assert.Zero(t, r.count(r.away+edge, r.returning, func(i int) bool { return r.shared(i) && r.ended(i) < r.returning }).of,
		"decided by a Redis that was away")
	assert.NotZero(t, r.count(r.back, short.total(), r.shared).of, "decided by Redis since it is back")
}

// TestRedisRateWaitsWhileRedisIsFrozen says that the outage that the others are measured in is one.
func TestRedisRateWaitsWhileRedisIsFrozen(t *testing.T) {
	s := short
	s.after = 500 * time.Millisecond
	r := measure(t, redisRate, frozen, s)
	before := r.count(0, r.away-edge, r.decided)
	assert.Equal(t, before.all, before.of, "requests with a decision before")
	during := r.count(r.away+edge, r.returning, func(i int) bool { return r.ended(i) < r.returning })
	assert.Greater(t, during.all, rate/2, "requests while Redis was away")
	assert.Zero(t, during.of, "those that were answered meanwhile")
	assert.Greater(t, r.goroutines, rate/2, "all others wait")
}

// TestPeersInAnOutage measures all candidates and writes the tables of the document.
func TestPeersInAnOutage(t *testing.T) {
	doc := os.Getenv(docEnv)
	if doc == "" {
		t.Skipf("takes two minutes; set %s to the document to write the tables into, such as ../../../docs/faults.md", docEnv)
	}
	var b strings.Builder
	fmt.Fprintf(&b, intro, rate, callers, perSecond, long.away.Seconds(), machine(t), inTime.Milliseconds(), inTime.Milliseconds())
	missing := false
	for _, o := range []outage{frozen, killed} {
		fmt.Fprintf(&b, "\nRedis %s:\n\n%s", o.name, header)
		for _, c := range candidates {
			row := ""
			t.Run(o.name+"/"+c.name, func(t *testing.T) { row = measure(t, c, o, long).row(c.name) })
			missing = missing || row == ""
			fmt.Fprint(os.Stderr, row)
			b.WriteString(row)
		}
	}
	if missing {
		t.Logf("%s is left as it is: not all candidates were measured", doc)
		return
	}
	b.WriteString(notes)
	require.NoError(t, between(doc, b.String()))
}

const (
	intro = `The load is an open loop: %d decisions a second by %d callers, each of whom may make %d, so nobody is over a limit.
Redis is away for %.1f s. One run of each limiter, one after the other, on %s.

* *In time*: the share of the requests due during the outage, its last %d ms aside, that got a decision within %d ms;
  errors and refusals are none. *At all*: the share that got one however late.
* Latencies are p50 / p99 / max in ms, of errors too, and count from when a request was due. Timers fire about 0.6 ms
  late here, which is in all of them.
* *Goroutines*: how many more there were at the peak, those of waiting requests included.
* *Back*: how long after its return Redis decided nine of ten requests again, in time.
`
	header = `| | in time | at all | before | first second | rest of the outage | goroutines | back |
|---|---|---|---|---|---|---|---|
`
	notes = `
redis_rate, ulule/limiter and throttled have a go-redis client with default options, whose reads wait for 5 s: longer
than this outage, so a frozen Redis answers late rather than never. "5 ms context" also sets ContextTimeoutEnabled, no
retries and one attempt to dial. Of ulule/limiter the store is asked; its middleware panics when the store returns an
error. go-zero has a TokenLimiter per caller, each with a stand-in of its own in the process. The go-redis client of
all of them dials an address that is dead once a second, so after a kill up to one second of *back* is chance. The
versions are in internal/bench/go.mod. Not measured: go-chi/httprate-redis and mennanov/limiters, which could not be
had as modules.
`
)

// machine says what the run ran on.
func machine(t testing.TB) string {
	info, err := redistest.Start(t).Client(t).InfoMap(t.Context(), "server").Result()
	require.NoError(t, err)
	return fmt.Sprintf("Redis %s, %s, %d cores that also run Redis and the load", info["Server"]["redis_version"], runtime.Version(), runtime.NumCPU())
}

// row is a line of the table.
func (r *run) row(name string) string {
	back := fmt.Sprintf("over %.1f s", (long.total() - r.back).Seconds())
	if took, ok := r.recovery(); ok {
		back = fmt.Sprintf("%.2f s", took.Seconds())
	}
	first, last := r.away+time.Second, r.returning-inTime
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %d | %s |\n", name,
		percent(r.count(r.away, last, r.decidedInTime)), percent(r.count(r.away, last, r.decided)),
		quantiles(r.Between(r.warm, r.away-edge)), quantiles(r.Between(r.away, first)), quantiles(r.Between(first, last)),
		r.goroutines, back)
}

// percent is 0 % and 100 % only if it is none and all.
func percent(c tally) string {
	p := 100 * c.share()
	if c.of == 0 || c.of == c.all {
		return fmt.Sprintf("%.0f %%", p)
	}
	return fmt.Sprintf("%.1f %%", min(max(p, 0.1), 99.9))
}

func quantiles(l openloop.Latencies) string {
	return ms(l.P(0.5)) + " / " + ms(l.P(0.99)) + " / " + ms(l.Max())
}

func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case v < 1:
		return fmt.Sprintf("%.2f", v)
	case v < 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// between replaces what the document has between the marks. If there is no document, it writes one.
func between(path, text string) error {
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		old = []byte(opening + closing)
	} else if err != nil {
		return err
	}
	head, rest, found := strings.Cut(string(old), opening)
	_, tail, closed := strings.Cut(rest, closing)
	if !found || !closed {
		return fmt.Errorf("%s: want the lines %q and %q, to write between them", path, strings.TrimSpace(opening), strings.TrimSpace(closing))
	}
	return os.WriteFile(path, []byte(head+opening+text+closing+tail), 0o644)
}
