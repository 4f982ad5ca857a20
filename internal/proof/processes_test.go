package proof

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

const processes = 4

// TestI1AcrossProcesses has four processes with 32 goroutines each ask one Redis as fast as they can, and
// counts what they get. What they may get is reckoned from times that Redis says: at most from the span from
// before the first call until after the last one, and at least from what was seen refused in between.
func TestI1AcrossProcesses(t *testing.T) {
	server := redistest.Start(t)
	workers := make([]*worker, processes)
	for i := range workers {
		workers[i] = hire(t, workerEnv+"="+server.URL())
	}
	clock := server.Client(t)
	store, err := openLoad(server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close(context.Background())) })
	for _, c := range []struct {
		name  string
		bound bound
	}{{"bucket", bucketBound}, {"log", logBound}, {"counter", counterBound}, {"window", windowBound}} {
		l := loads[c.name]
		t.Run(l.name, func(t *testing.T) {
			r := drive(t, l, workers, store, clock)
			least, most := c.bound(r)
			t.Logf("%d of %d asked were admitted in %v; at least %.0f and at most %.0f should be: %.4f and %.4f of it",
				r.admitted, r.asked, r.end-r.begin, least, most, float64(r.admitted)/least, float64(r.admitted)/most)
			require.LessOrEqual(t, float64(r.admitted), most, "I1")
			require.GreaterOrEqual(t, float64(r.admitted), least)
		})
	}
}

// probe is a call of our own, and when it was on Redis' clock, since the epoch.
type probe struct {
	from, to time.Duration
	admitted bool
}

// run is what happened to a load.
type run struct {
	begin, end      time.Duration // on Redis' clock: nothing was asked before and behind
	probes          []probe
	admitted, asked int64
}

// drive lets the workers ask and probes meanwhile, until the load has lasted and a probe was refused last.
func drive(t *testing.T, l load, workers []*worker, store *redisstore.Store, clock *redis.Client) run {
	c, err := l.check()
	require.NoError(t, err)
	now := func() time.Duration {
		at, err := clock.Time(t.Context()).Result()
		require.NoError(t, err)
		return time.Duration(at.UnixNano())
	}
	r := run{begin: now()}
	for until, refused := r.begin+l.lasts, false; !refused || r.probes[len(r.probes)-1].to < until; {
		p := probe{from: now()}
		results, err := store.Apply(t.Context(), nil, []seawall.Check{c})
		require.NoError(t, err)
		p.to, p.admitted = now(), results[0].Committed
		if len(r.probes) == 0 {
			for _, w := range workers {
				w.tell(t, l.name)
			}
		}
		r.probes = append(r.probes, p)
		r.asked++
		if refused = !p.admitted; p.admitted {
			r.admitted++
		}
	}
	for _, w := range workers {
		w.tell(t, "stop")
	}
	for _, w := range workers {
		var got tally
		w.hear(t, &got)
		require.Zero(t, got.Failed, got.Error)
		r.admitted += got.Admitted
		r.asked += got.Admitted + got.Denied
	}
	r.end = now()
	return r
}

// worker is a process that works.
type worker struct {
	in  io.Writer
	out *bufio.Reader
}

// hire starts a worker, with variables in its environment, and waits until it is ready.
func hire(t *testing.T, env ...string) *worker {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
	w := &worker{in, bufio.NewReader(out)}
	line, err := w.out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return w
}

func (w *worker) tell(t *testing.T, line string) {
	_, err := fmt.Fprintln(w.in, line)
	require.NoError(t, err)
}

func (w *worker) hear(t *testing.T, got any) {
	line, err := w.out.ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, got), "%s", line)
}
