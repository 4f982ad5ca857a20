package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
)

// keeperEnv has the posting of a process that holds leases and is no test.
const keeperEnv = "SEAWALL_FAULTS_KEEPER"

// posting says where a keeper works.
type posting struct {
	URL            string
	Slots, Workers int64
	TTL            time.Duration
}

func (p posting) setup() setup {
	return setup{url: p.URL, slots: p.Slots, workers: p.Workers, ttl: p.TTL}.usual()
}

// order is what a keeper is told to do; it answers each with a report.
type order struct {
	Do     string // hold, serve, end or say
	Caller string
	N      int
	For    time.Duration
}

// report is what a keeper says.
type report struct {
	Refused     int             // of this order
	Took        []time.Duration // ends of this order, each
	InFlight    int
	Fallbacks   int
	Unwaited    int // releases that were waited for in vain
	Lapsed      uint64
	Goroutines  int
	Heap        uint64 // live
	CPU         time.Duration
	Err         string
	Announced   bool
	BreakerOpen bool
}

// runAsKeeper is the process's main function if it is a keeper.
func runAsKeeper() {
	text, ok := os.LookupEnv(keeperEnv)
	if !ok {
		return
	}
	if err := holdOn(text, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "keeper:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// holding is a keeper: an instance whose requests last as long as it is told.
type holding struct {
	*instance
	held     map[string][]*seawall.Admission
	serving  sync.WaitGroup
	inFlight atomic.Int64
}

// holdOn works off orders until there are no more, also because who gives them has died.
func holdOn(text string, in io.Reader, out io.Writer) error {
	var p posting
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	instance, err := openInstance(p.setup())
	if err != nil {
		return err
	}
	h := &holding{instance: instance, held: map[string][]*seawall.Admission{}}
	orders, reports := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			break
		}
		if err := reports.Encode(h.execute(o)); err != nil {
			break
		}
	}
	h.serving.Wait()
	return h.close()
}

func (h *holding) execute(o order) (r report) {
	switch o.Do {
	case "hold", "serve":
		for range o.N {
			a := h.stack.Admit(context.Background(), request(o.Caller))
			if a.Decision().Denied {
				a.Done(context.Background())
				r.Refused++
				continue
			}
			h.inFlight.Add(1)
			if o.Do == "hold" {
				h.held[o.Caller] = append(h.held[o.Caller], a)
				continue
			}
			h.serving.Go(func() {
				time.Sleep(o.For) // how long the handler works
				h.end(a)
			})
		}
	case "end":
		n := min(o.N, len(h.held[o.Caller]))
		for _, a := range h.held[o.Caller][:n] {
			r.Took = append(r.Took, h.end(a))
		}
		clear(h.held[o.Caller][:n]) // or they would count as what is left behind
		h.held[o.Caller] = h.held[o.Caller][n:]
	case "say":
		var m runtime.MemStats
		for range 2 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		r.Heap, r.Goroutines = m.HeapAlloc, runtime.NumGoroutine()
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			r.Err = err.Error()
		}
		r.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	default:
		r.Err = fmt.Sprintf("order %q; want hold, serve, end or say", o.Do)
	}
	r.InFlight, r.Lapsed = int(h.inFlight.Load()), h.shared.Lapsed()
	r.Fallbacks, r.Unwaited = h.seen.ranOut()
	r.Announced, r.BreakerOpen = h.cache.Fleet().Announced, h.failover.Open()
	return r
}

func (h *holding) end(a *seawall.Admission) time.Duration {
	h.inFlight.Add(-1)
	began := time.Now()
	a.Done(context.Background())
	return time.Since(began)
}

// keeper is the process, as its test sees it.
type keeper struct {
	*redistest.Process
	orders io.Closer
	in     *json.Encoder
	out    *json.Decoder
}

// hire starts a keeper and waits until it is in the fleet and decides by Redis.
func hire(t *testing.T, p posting) *keeper {
	t.Helper()
	text, err := json.Marshal(p)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), keeperEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	h := &keeper{redistest.Launch(t, cmd), in, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))}
	require.Eventually(t, func() bool { return h.do(t, order{Do: "say"}).Announced }, soon, 5*time.Millisecond)
	h.shared(t)
	return h
}

// shared waits until the keeper decides by Redis.
func (h *keeper) shared(t *testing.T) {
	t.Helper()
	inARow := 0
	require.Eventually(t, func() bool {
		before := h.do(t, order{Do: "hold", Caller: "trial", N: 1}).Fallbacks
		inARow++
		if h.do(t, order{Do: "end", Caller: "trial", N: 1}).Fallbacks > before || h.do(t, order{Do: "say"}).BreakerOpen {
			inARow = 0
		}
		return inARow >= 20
	}, soon, time.Millisecond, "decisions are shared")
}

// do gives an order and returns the report.
func (h *keeper) do(t *testing.T, o order) report {
	t.Helper()
	h.tell(t, o)
	return h.hear(t)
}

// tell gives an order, whose report is for hear.
func (h *keeper) tell(t *testing.T, o order) {
	t.Helper()
	require.NoError(t, h.in.Encode(o))
}

func (h *keeper) hear(t *testing.T) (r report) {
	t.Helper()
	require.NoError(t, h.out.Decode(&r))
	require.Empty(t, r.Err)
	return r
}

// hold has the keeper take leases, all of which Redis must grant.
func (h *keeper) hold(t *testing.T, caller string, n int) {
	t.Helper()
	before := h.do(t, order{Do: "say"})
	after := h.do(t, order{Do: "hold", Caller: caller, N: n})
	require.Zero(t, after.Refused, "all are admitted")
	require.Equal(t, before.InFlight+n, after.InFlight)
}

// dismiss has the keeper close its instance and end.
func (h *keeper) dismiss(t *testing.T) {
	t.Helper()
	require.NoError(t, h.orders.Close())
	<-h.Exited()
	require.Zero(t, h.Code(), "exit code")
}
