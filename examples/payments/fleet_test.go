package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// deployment is a fleet of processes of the command, and what balances the load over them: in turn, over those that are
// in rotation.
type deployment struct {
	binary string
	args   []string
	turn   atomic.Uint64

	mu       sync.Mutex
	rotation []*process
}

type process struct {
	*redistest.Process
	*instance
}

func newDeployment(t *testing.T, args ...string) *deployment {
	t.Helper()
	d := &deployment{binary: filepath.Join(t.TempDir(), "payments"), args: append([]string{"-addr", "127.0.0.1:0"}, args...)}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", d.binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return d
}

// add starts a process, and puts it into rotation when it is healthy.
func (d *deployment) add(t *testing.T) {
	t.Helper()
	cmd := exec.Command(d.binary, d.args...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	p := &process{redistest.Launch(t, cmd), &instance{client: &http.Client{Transport: transport, Timeout: 30 * time.Second}}}
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	p.url = strings.TrimSpace(strings.TrimPrefix(line, "payments: listening on "))
	require.Eventually(t, func() bool { return p.get(t, "/healthz", "").code == http.StatusOK }, 10*time.Second, 10*time.Millisecond)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rotation = append(d.rotation, p)
}

// remove takes the oldest process out of rotation, stops it while requests are in flight, and waits for its end.
func (d *deployment) remove(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	old := d.rotation[0]
	d.rotation = slices.Clone(d.rotation[1:])
	d.mu.Unlock()
	time.Sleep(200 * time.Millisecond) // what has been sent arrives, as behind any balancer
	old.client.CloseIdleConnections()  // a server waits for those that were never used
	old.Signal(syscall.SIGTERM)
	select {
	case <-old.Exited():
		assert.Zero(t, old.Code())
	case <-time.After(10 * time.Second):
		require.Fail(t, "SIGTERM did not end it")
	}
}

// next returns the process whose turn it is.
func (d *deployment) next() *process {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rotation[d.turn.Add(1)%uint64(len(d.rotation))]
}

// charge asks for something that takes so long: to charge, which is critical, or to read.
func (d *deployment) charge(t *testing.T, caller int, critical bool, work time.Duration) answer {
	method := http.MethodGet
	if critical {
		method = http.MethodPost
	}
	return d.next().do(t, method, fmt.Sprintf("/v1/charges?ms=%d", work.Milliseconds()), fmt.Sprintf("sk_live_%d", caller), "")
}

// load has so many callers send one request after the other, of up to 300 ms, until it is told to stop. It returns how
// many answers of which status there were.
func (d *deployment) load(t *testing.T, ordinary, critical int) (stop func() map[int]int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	var over atomic.Bool
	n := map[int]int{}
	for caller := range ordinary + critical {
		all.Go(func() {
			for k := caller; !over.Load(); k += 7 {
				a := d.charge(t, caller, caller >= ordinary, time.Duration(k%16)*20*time.Millisecond)
				mu.Lock()
				n[a.code]++
				if a.code != http.StatusOK {
					t.Logf("%d: %s", a.code, a.body)
				}
				mu.Unlock()
			}
		})
	}
	return func() map[int]int {
		over.Store(true)
		all.Wait()
		return n
	}
}

// books are what Redis holds of the fleet.
type books struct {
	instances, workers, held float64 // that the instances announce
	capacity                 float64
	ordinary, critical       float64 // slots
}

func readBooks(t assert.TestingT, c *redis.Client) (b books) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(text, 64)
		assert.NoError(t, err)
		return n
	}
	const of = "payments:{fleet}:"
	for _, m := range c.HGetAll(ctx, of+"members").Val() {
		parts := strings.Split(m, ":")
		if assert.Len(t, parts, 3, m) {
			b.instances++
			b.workers += number(parts[1])
			b.held += number(parts[2])
		}
	}
	b.capacity = number(c.Get(ctx, of+"capacity").Val())
	now := fmt.Sprintf("(%d", c.Time(ctx).Val().UnixMilli())
	b.ordinary = float64(c.ZCount(ctx, of+"fleetshed:ordinary", now, "+inf").Val())
	b.critical = float64(c.ZCount(ctx, of+"fleetshed:critical", now, "+inf").Val())
	return b
}

// TestARollingDeployRefusesNobody replaces every instance of three, twice, while requests hold 60 % of what ordinary ones
// may: 11 of 19. Then, with as many held, what every instance says of the fleet is what Redis holds.
func TestARollingDeployRefusesNobody(t *testing.T) {
	server := redistest.Start(t)
	c := server.Client(t)
	d := newDeployment(t, "-redis", server.URL(), "-workers", "8", "-reserve", "0.2",
		"-rate", "100000", "-burst", "100000", "-max-in-flight", "100")
	for range 3 {
		d.add(t)
	}
	const ordinary, critical = 11, 2
	stop := d.load(t, ordinary, critical)
	for range 2 * 3 {
		d.add(t)
		assert.EqualValues(t, 32, readBooks(t, c).capacity, "who is healthy counts")
		d.remove(t)
		assert.EqualValues(t, 24, readBooks(t, c).capacity, "who has left does not")
	}
	n := stop()
	assert.Len(t, n, 1, "%v", n)
	assert.Greater(t, n[http.StatusOK], 50)
	t.Logf("answers: %v", n)
	assert.Zero(t, c.Exists(t.Context(), "payments:{fleet}:floors").Val(), "nobody went silent")

	const holds = 5 * time.Second
	var holding sync.WaitGroup
	for caller := range ordinary + critical {
		holding.Go(func() {
			assert.Equal(t, http.StatusOK, d.charge(t, caller, caller >= ordinary, holds).code)
		})
	}
	agree(t, d, c, books{instances: 3, workers: 24, held: ordinary + critical, capacity: 24, ordinary: ordinary, critical: critical}, holds-time.Second/2)
	holding.Wait()
	agree(t, d, c, books{instances: 3, workers: 24, capacity: 24}, 10*time.Second)
}

// agree waits until Redis holds that, and all instances say so, for so long at most.
func agree(t *testing.T, d *deployment, c *redis.Client, want books, within time.Duration) {
	t.Helper()
	require.EventuallyWithT(t, func(now *assert.CollectT) {
		require.Equal(now, want, readBooks(now, c))
		for _, p := range d.rotation {
			assert.InDelta(now, want.capacity, p.metric(t, "seawall_fleet_capacity"), 0)
			assert.InDelta(now, want.held, p.metric(t, "seawall_fleet_used"), 0)
			assert.InDelta(now, want.instances, p.metric(t, "seawall_instances"), 0)
		}
	}, within, 20*time.Millisecond)
}
