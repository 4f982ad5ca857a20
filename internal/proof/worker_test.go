package proof

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// workerEnv has the URL of Redis, in a process that is a worker of TestI1AcrossProcesses and no test.
const workerEnv = "SEAWALL_PROOF_WORKER"

// hands is how many goroutines of a worker ask as fast as they can.
const hands = 32

// tally is what a worker saw.
type tally struct {
	Admitted, Denied, Failed int64
	Error                    string
}

// work asks for what it reads the names of, line by line, until it reads the next line, and then writes a tally.
// It ends with its input, also when who started it dies.
func work(url string, in io.Reader, out io.Writer) error {
	store, err := openLoad(url)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close(context.Background()) }() // the process ends, and took no leases
	fmt.Fprintln(out, "ready")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		l, ok := loads[lines.Text()]
		if !ok {
			return fmt.Errorf("no load %q", lines.Text())
		}
		c, err := l.check()
		if err != nil {
			return err
		}
		stop := make(chan struct{})
		sum := make(chan tally)
		go func() { sum <- ask(store, c, stop) }()
		more := lines.Scan()
		close(stop)
		if err := json.NewEncoder(out).Encode(<-sum); err != nil {
			return err
		}
		if !more {
			break
		}
	}
	return lines.Err()
}

// ask asks with many hands until stop is closed.
func ask(store seawall.Store, c seawall.Check, stop <-chan struct{}) tally {
	var admitted, denied, failed atomic.Int64
	var last atomic.Pointer[error]
	var all sync.WaitGroup
	for range hands {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				results, err := store.Apply(context.Background(), nil, []seawall.Check{c})
				switch {
				case err != nil:
					failed.Add(1)
					last.Store(&err)
				case results[0].Committed:
					admitted.Add(1)
				default:
					denied.Add(1)
				}
			}
		})
	}
	all.Wait()
	t := tally{Admitted: admitted.Load(), Denied: denied.Load(), Failed: failed.Load()}
	if err := last.Load(); err != nil {
		t.Error = (*err).Error()
	}
	return t
}

// openLoad returns a store whose calls take as long as they take: none fails because a machine is busy.
func openLoad(url string) (*redisstore.Store, error) {
	o, err := redisstore.Options(url + patient)
	if err != nil {
		return nil, err
	}
	return redisstore.New(redisstore.Config{Client: redis.NewClient(o), Namespace: namespace})
}

// patient are timeouts for a URL.
const patient = "?dial_timeout=10s&read_timeout=10s&write_timeout=10s&pool_timeout=10s"

// load is a limit that all workers try to exceed, for a time.
type load struct {
	name  string
	quota ratelimit.Quota
	lasts time.Duration
}

func (l load) check() (seawall.Check, error) {
	rule, err := l.quota.Rule()
	if err != nil {
		return seawall.Check{}, err
	}
	limit, err := seawall.NewLimit(ratelimit.Name, l.name, seawall.FailLocal)
	return seawall.Check{Limit: limit, Rule: rule, Key: seawall.NewKey("everybody"), Cost: 1}, err
}

const (
	loadRate, loadBurst = 1000, 3000
	loadLimit           = 300
	logWindow           = 200 * time.Millisecond
)

// loads are one of each kind. The bucket's burst lasts for longer than a busy machine stalls, so that a stall
// wastes nothing.
var loads = map[string]load{
	"bucket":  {"bucket", ratelimit.TokenBucket(ratelimit.PerSecond(loadRate), loadBurst), 5 * time.Second},
	"log":     {"log", ratelimit.SlidingLog(loadLimit, logWindow), time.Second},
	"counter": {"counter", ratelimit.SlidingCounter(loadLimit, time.Second), time.Second},
	"window":  {"window", ratelimit.FixedWindow(loadLimit, ratelimit.Every(time.Second)), time.Second},
}

// runAsWorker works and ends the process, if it is a worker.
func runAsWorker() {
	url, ok := os.LookupEnv(workerEnv)
	if !ok {
		return
	}
	if err := work(url, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
