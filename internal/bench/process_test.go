package bench

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/command"
	"github.com/seawall-go/seawall/internal/redistest"
)

// The settings of the server, and the work of its handlers.
const (
	onMemstore, onRedis = "memstore", "redis"
	spin, sleeping      = "spin", "sleep"
)

// connections is how many clients of wrk wait for an answer each. Asleep for a millisecond, sixteen handlers make some 14,000
// requests a second at most, which is a fixed load as long as the processors can do that.
const connections = 16

// process is about a server in a process of its own, and wrk in another.
func (b *bench) process(t *testing.T) {
	wrk := newWrk(t)
	b.rec.Wrk = wrk.version(t)
	folder := t.TempDir()
	require.NoError(t, command.BuildIn("internal/bench", folder, "./server"))
	program := filepath.Join(folder, "server")
	redis := redistest.Start(t)
	servers := map[string]*server{}
	for mode, url := range map[string]string{"bare": "", onMemstore: "", onRedis: redis.URL()} {
		servers[mode] = startServer(t, program, mode, url, "1000000")
		if mode != "bare" {
			limited := startServer(t, program, mode, redisOf(t, url), "5")
			limited.limits(t)
			limited.Kill()
		}
	}
	b.rec.Redis = infoText(t, redis, "redis_version")
	var subjects []subject
	for _, s := range settings() {
		subjects = append(subjects, subject{s.name(), func(time.Duration) figures {
			return servers[s.mode].load(t, wrk, s.work, b.pace.served)
		}})
	}
	s := interleave(b.rnd, b.pace.serving, b.pace.served, subjects...)
	for _, set := range settings() {
		name := set.name()
		fallbacks := s.of(name, "fallbacks").Median
		if set.mode == onRedis && long() {
			require.Less(t, fallbacks, 0.5, "Redis decides")
		}
		b.rec.Process = append(b.rec.Process, Served{
			Setting: set.mode, Work: set.work, Throughput: s.of(name, "throughput"), P50: s.of(name, "p50"), P99: s.of(name, "p99"),
			CPU: s.of(name, "cpu"), Allocs: s.of(name, "allocs"), GC: s.of(name, "gc"), Fallbacks: fallbacks,
		})
	}
	for _, work := range []string{spin, sleeping} {
		with, without := setting{onMemstore, work}.name(), setting{"bare", work}.name()
		ratio := s.ratio("throughput", with, without)
		b.line(Line{
			Name: "process-" + work, Ours: s.of(with, "throughput"), Limit: &Other{bare, s.of(without, "throughput")}, Ratio: &ratio,
		})
	}
	with, without := setting{onRedis, sleeping}.name(), setting{"bare", sleeping}.name()
	b.line(Line{
		Name: "process-redis-p99", Ours: s.more("p99", with, without),
		Note: "p50 " + Number(s.more("p50", with, without).Median) + " ms; on memstore p99 " +
			Number(s.more("p99", setting{onMemstore, sleeping}.name(), without).Median) + " ms",
	})
}

type setting struct{ mode, work string }

func (s setting) name() string { return s.mode + ", " + s.work }

// settings are those that are measured. Redis has no spinning handlers: nothing is left for it where these spin.
func settings() []setting {
	return []setting{
		{"bare", sleeping}, {onMemstore, sleeping}, {onRedis, sleeping}, {"bare", spin}, {onMemstore, spin},
	}
}

// redisOf is the URL of another Redis, if there is one.
func redisOf(t *testing.T, url string) string {
	if url == "" {
		return ""
	}
	return redistest.Start(t).URL()
}

func infoText(t *testing.T, s *redistest.Server, field string) string {
	t.Helper()
	all, err := s.Client(t).InfoMap(t.Context(), "server").Result()
	require.NoError(t, err)
	return all["Server"][field]
}

// server is a process of the command server.
type server struct {
	*redistest.Process
	url string
}

func startServer(t *testing.T, program, mode, redis, rate string) *server {
	t.Helper()
	cmd := exec.Command(program, "-mode", mode, "-redis", redis, "-rate", rate)
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	s := &server{Process: redistest.Launch(t, cmd)}
	address := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		lines.Scan()
		address <- lines.Text()
		_, _ = io.Copy(io.Discard, out) // until the process ends
	}()
	t.Cleanup(func() { _ = in.Close() })
	select {
	case a := <-address:
		s.url = "http://" + a
	case <-time.After(soon):
	}
	require.True(t, strings.HasPrefix(s.url, "http://127."), "the server of mode %s says where it listens, and not %q", mode, s.url)
	return s
}

// limits asserts that a caller with five requests is refused the sixth.
func (s *server) limits(t *testing.T) {
	t.Helper()
	for n := range 6 {
		want := http.StatusOK
		if n == 5 {
			want = http.StatusTooManyRequests
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/sleep", http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer sk_live_limited")
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode, "request %d of a caller who may make five", n+1)
	}
}

// load puts wrk on a server for a while. All requests must be served.
func (s *server) load(t *testing.T, w *wrk, work string, d time.Duration) figures {
	before := s.stats(t)
	told := w.run(t, s.url+"/"+work, d)
	after := s.stats(t)
	served := after["served"] - before["served"]
	assert.Positive(t, served, "requests served")
	return figures{
		"throughput": told.perSecond, "p50": told.p50, "p99": told.p99,
		"cpu":       1e6 * (after["cpu"] - before["cpu"]) / served,
		"allocs":    (after["allocs"] - before["allocs"]) / served,
		"gc":        (after["gc"] - before["gc"]) / (after["busy"] - before["busy"]),
		"fallbacks": (after["fallbacks"] - before["fallbacks"]) / served,
	}
}

func (s *server) stats(t *testing.T) map[string]float64 {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/stats", http.NoBody)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var all map[string]float64
	require.NoError(t, json.NewDecoder(res.Body).Decode(&all))
	return all
}
