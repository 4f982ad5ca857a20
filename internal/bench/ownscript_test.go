package bench

import (
	"context"
	"encoding/csv"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// ownScriptOf is a decision of ours as redis-benchmark sends it.
type ownScriptOf struct {
	path  string
	args  []string // with the server and the script
	speed float64  // of the last run, a second
}

// marker is the caller whose call is caught. redis-benchmark replaces the name by one of some hundred.
const marker, random = "marker-of-a-call", "__rand_int__"

// newOwnScript catches the script call of a decision about one bucket. Its deadline is that of a caller who has an hour, so
// that Redis still takes it seriously when the benchmark sends it.
func newOwnScript(t *testing.T, server *redistest.Server) *ownScriptOf {
	t.Helper()
	path, err := exec.LookPath("redis-benchmark")
	require.NoError(t, err, "redis-benchmark comes with redis-server (Debian: redis-tools)")
	r := newRemote(t, server, ample, "", nil)
	caught := &catching{}
	r.client.AddHook(caught)
	check := r.bucket(seawall.NewKey(marker))
	ctx, cancel := seawall.Patient(context.Background(), time.Hour)
	defer cancel()
	res, err := r.store.Apply(ctx, nil, check)
	require.NoError(t, err)
	require.True(t, res[0].Committed)
	call := caught.call()
	require.NotEmpty(t, call, "the script call of a decision goes through the client")
	host, port, err := net.SplitHostPort(server.Addr())
	require.NoError(t, err)
	o := &ownScriptOf{path: path, speed: 10_000, args: append([]string{
		"-h", host, "-p", port, "-c", "8", "-P", "32", "--csv", "-r", "256",
	}, call...)}
	o.run(t, 50*time.Millisecond)
	keys, err := server.Client(t).Keys(t.Context(), "*"+strings.Repeat("0", 9)+"*:"+ratelimit.Name+":api").Result()
	require.NoError(t, err)
	require.NotEmpty(t, keys, "what redis-benchmark sends is decided: buckets are spent from")
	return o
}

// run sends it for about so long, and returns how many a second Redis did.
func (o *ownScriptOf) run(t testing.TB, d time.Duration) float64 {
	n := max(500, int(o.speed*d.Seconds()))
	out, err := exec.Command(o.path, append([]string{"-n", strconv.Itoa(n)}, o.args...)...).Output()
	require.NoError(t, err, "redis-benchmark")
	rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	require.NoError(t, err, "%s", out)
	last := rows[len(rows)-1]
	require.Greater(t, len(last), 1, "%s", out)
	o.speed, err = strconv.ParseFloat(last[1], 64)
	require.NoError(t, err, "%s", out)
	require.Positive(t, o.speed)
	return o.speed
}

// catching is a hook that keeps the script call about the marker.
type catching struct {
	mu   sync.Mutex
	seen []string
}

func (c *catching) call() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

func (c *catching) look(cmd redis.Cmder) {
	var words []string
	about := false
	for _, a := range cmd.Args() {
		word := fmt.Sprint(a)
		about = about || strings.Contains(word, marker)
		words = append(words, strings.ReplaceAll(word, marker, random))
	}
	if about && words[0] == "evalsha" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen = words
	}
}

func (c *catching) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *catching) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.look(cmd)
		return next(ctx, cmd)
	}
}

func (c *catching) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.look(cmd)
		}
		return next(ctx, cmds)
	}
}
