//go:build unix

package proof

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/store/redisstore"
)

// witnessEnv has the file of the witness, in a process that is a worker of TestCapsHoldAcrossProcesses.
const witnessEnv = "SEAWALL_PROOF_WITNESS"

const (
	loadCallers = 24
	// loadTTL leaves a process that is held up by a busy machine two thirds of it to renew.
	loadTTL = 3 * time.Second
	// loadHands is how many goroutines of an instance take slots.
	loadHands = 8
)

// loadCap is the cap of a caller, 1 to 20. Callers with low caps come more often.
func loadCap(caller int) int64 { return int64(1 + caller%20) }

// weighs tells whether a caller's requests have weights.
func weighs(caller int) bool { return caller%3 == 2 }

// loadCheck asks for slots of a caller.
func loadCheck(caller int, cost int64) (seawall.Check, error) {
	rule, err := concurrency.NewSlots(loadCap(caller), loadTTL)
	if err != nil {
		return seawall.Check{}, err
	}
	if weighs(caller) {
		rule = rule.Weighted()
	}
	limit, err := seawall.NewLimit(concurrency.Name, "load", seawall.FailLocal)
	return seawall.Check{Limit: limit, Rule: rule, Key: seawall.NewKey("caller", fmt.Sprint(caller)), Cost: cost}, err
}

// heldTally is what a worker saw.
type heldTally struct {
	Granted, Refused, Unanswered int64
	Long                         int64 // held for longer than a third of the TTL
	Lapsed                       uint64
	Error                        string
}

// holdSlots takes slots and gives them back, with as many instances as the first line says, until it reads another one
// or its input ends, and then writes a tally.
func holdSlots(url, path string, in io.Reader, out io.Writer) error {
	w, err := openWitness(path)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	fmt.Fprintln(out, "ready")
	var instances int
	if !lines.Scan() {
		return lines.Err()
	}
	if _, err := fmt.Sscan(lines.Text(), &instances); err != nil {
		return err
	}
	stop := make(chan struct{})
	sum := make(chan heldTally)
	go func() { sum <- hold(url, instances, w, stop) }()
	lines.Scan()
	close(stop)
	return json.NewEncoder(out).Encode(<-sum)
}

// holder is what the hands of an instance share.
type holder struct {
	store                              seawall.Store
	witness                            witness
	stop                               <-chan struct{}
	granted, refused, unanswered, long *atomic.Int64
}

// hold opens the instances and has their hands work until stop is closed, and all is given back.
func hold(url string, instances int, w witness, stop <-chan struct{}) (t heldTally) {
	var granted, refused, unanswered, long atomic.Int64
	var mu sync.Mutex
	var errs []error
	var stores []*redisstore.Store
	var all sync.WaitGroup
	for range instances {
		store, err := openLoad(url)
		if err != nil {
			return heldTally{Error: err.Error()}
		}
		stores = append(stores, store)
		h := holder{store, w, stop, &granted, &refused, &unanswered, &long}
		for range loadHands {
			all.Go(func() {
				if err := h.work(); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				}
			})
		}
	}
	all.Wait()
	for _, store := range stores {
		t.Lapsed += store.Lapsed()
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		errs = append(errs, store.Close(ctx))
		cancel()
	}
	if err := errors.Join(errs...); err != nil {
		t.Error = err.Error()
	}
	t.Granted, t.Refused, t.Unanswered, t.Long = granted.Load(), refused.Load(), unanswered.Load(), long.Load()
	return t
}

// work is one hand.
func (h holder) work() error {
	for {
		select {
		case <-h.stop:
			return nil
		default:
		}
		caller := min(rand.IntN(loadCallers), rand.IntN(loadCallers))
		slots := int64(1)
		if weighs(caller) {
			slots = min(1+rand.Int64N(3), loadCap(caller))
		}
		check, err := loadCheck(caller, slots)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		if rand.IntN(20) == 0 {
			ctx, cancel = context.WithTimeout(context.Background(), time.Duration(rand.IntN(500))*time.Microsecond)
		}
		checks := []seawall.Check{check}
		results, err := h.store.Apply(ctx, nil, checks)
		cancel()
		l, _ := checks[0].Lease()
		switch {
		case err != nil: // it may have the slots, and is not served
			h.unanswered.Add(1)
		case !results[0].Committed:
			h.refused.Add(1)
			continue
		default:
			h.granted.Add(1)
			h.witness.enters(caller, slots)
			h.serve()
			h.witness.leaves(caller, slots)
			l.Last = results[0].Last
		}
		if err := h.store.Release(context.Background(), l); err != nil {
			return err
		}
	}
}

// serve takes as long as requests do: mostly little, and now and then longer than a lease lasts that is not renewed.
func (h holder) serve() {
	var d time.Duration
	switch n := rand.IntN(100); {
	case n < 70:
		d = rand.N(5 * time.Millisecond)
	case n < 92:
		d = rand.N(200 * time.Millisecond)
	case n < 98:
		d = loadTTL/3 + rand.N(loadTTL/3)
	default:
		d = loadTTL + rand.N(loadTTL/5)
	}
	if d > loadTTL/3 {
		h.long.Add(1)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.stop:
	}
}

// runAsHolder holds slots and ends the process, if it is a worker that does.
func runAsHolder() {
	path, ok := os.LookupEnv(witnessEnv)
	if !ok {
		return
	}
	if err := holdSlots(os.Getenv(workerEnv), path, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
