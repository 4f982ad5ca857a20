package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
)

// leaseHistory is what clients took and gave back at the same time, and what they were told.
type leaseHistory struct {
	stores []seawall.Store // each client has one, which knows what is its own
	checks [len(caps)]seawall.Check
	began  time.Time

	mu     sync.Mutex
	leases int
	done   []porcupine.Operation
	ghosts []porcupine.Operation // what may have been done for those who did not wait for the second answer
	late   []porcupine.Operation // the same of those who did not wait for any
	// doubtful tells that only with those the history is explained, if at all.
	doubtful bool
	seen     struct{ granted, refused, unanswered, given int }
}

func newLeaseHistory(t *testing.T, caller seawall.Key, stores ...seawall.Store) *leaseHistory {
	h := &leaseHistory{stores: stores, began: time.Now()}
	for i, c := range caps {
		rule, err := concurrency.NewSlots(c.slots, historyTTL)
		require.NoError(t, err)
		if c.weighted {
			rule = rule.Weighted()
		}
		limit, err := seawall.NewLimit(concurrency.Name, c.name, seawall.FailLocal)
		require.NoError(t, err)
		h.checks[i] = seawall.Check{Limit: limit, Rule: rule, Key: caller}
	}
	return h
}

func (h *leaseHistory) store(client int) seawall.Store { return h.stores[client%len(h.stores)] }

func (h *leaseHistory) number() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leases++
	return h.leases - 1
}

func (h *leaseHistory) check(w wish) seawall.Check {
	c := h.checks[w.cap]
	c.Op, c.Cost, c.Advisory, c.ID = w.op, w.cost, w.advisory, uint64(w.id)+1
	return c
}

func (h *leaseHistory) since() int64 { return int64(time.Since(h.began)) }

func (h *leaseHistory) add(to *[]porcupine.Operation, client int, d deed, wishes []wish, call, ended int64, told grants) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*to = append(*to, porcupine.Operation{ClientId: client, Input: act{d, wishes}, Call: call, Output: told, Return: ended})
}

// ask asks for slots, and returns which it was told that it has or, if it was not answered, which it may have.
func (h *leaseHistory) ask(ctx context.Context, client int, wishes []wish) (has []wish) {
	checks := make([]seawall.Check, len(wishes))
	var spends []wish
	for i, w := range wishes {
		checks[i] = h.check(w)
		if w.op == seawall.Spend {
			spends = append(spends, w)
		}
	}
	call := h.since()
	results, err := h.store(client).Apply(ctx, nil, checks)
	ended := h.since()
	if err != nil {
		h.seenMore(0, 0, 1, 0)
		for _, w := range spends { // together if they fit; beyond the cap one by one
			h.add(&h.done, client, holds, []wish{w}, call, forever, grants{})
			h.add(&h.late, client, late, []wish{w}, call, forever, grants{})
			h.add(&h.late, client, cleans, []wish{w}, call, forever, grants{})
		}
		return spends
	}
	var told grants
	for i, r := range results {
		told[i] = grant{r.Admitted, r.Committed, r.Last, r.Remaining}
		if r.Committed {
			has = append(has, wishes[i])
		}
	}
	h.add(&h.done, client, asks, wishes, call, ended, told)
	if len(has) == 0 && len(spends) > 0 {
		h.seenMore(0, 1, 0, 0)
		if ctx.Err() != nil {
			h.add(&h.ghosts, client, ghost, wishes, call, forever, grants{})
			for _, w := range spends {
				h.add(&h.ghosts, client, drops, []wish{w}, call, forever, grants{})
			}
		}
	}
	h.seenMore(len(has), 0, 0, 0)
	return has
}

func (h *leaseHistory) seenMore(granted, refused, unanswered, given int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen.granted += granted
	h.seen.refused += refused
	h.seen.unanswered += unanswered
	h.seen.given += given
}

// give gives slots back, and waits until they are free, or does not.
func (h *leaseHistory) give(client int, waits bool, wishes []wish) {
	var leases []seawall.Lease
	for _, w := range wishes {
		c := h.check(w)
		l, _ := c.Lease()
		l.Last = waits
		leases = append(leases, l)
	}
	call := h.since()
	err := h.store(client).Release(context.Background(), leases...)
	ended := h.since()
	if err != nil || !waits {
		ended = forever
	}
	for _, w := range wishes { // one by one, in any order
		h.add(&h.done, client, gives, []wish{w}, call, ended, grants{})
	}
	h.seenMore(0, 0, 0, len(wishes))
}

// giveAgain gives back what was given back. As nothing comes of it, the history does not have it.
func (h *leaseHistory) giveAgain(client int, w wish) {
	c := h.check(w)
	l, _ := c.Lease()
	_ = h.store(client).Release(context.Background(), l)
}

// client does so much: it takes slots of one cap or several, looks, and gives back, sometimes twice.
func (h *leaseHistory) client(id int, rnd *rand.Rand, deeds int, patience func(*rand.Rand) (context.Context, context.CancelFunc)) {
	var mine, given []wish
	for range deeds {
		switch n := rnd.IntN(10); {
		case n < 4 && len(mine) > 0:
			rnd.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			some := mine[:1+rnd.IntN(len(mine))]
			h.give(id, rnd.IntN(4) > 0, some)
			given = append(given, some...)
			mine = append([]wish(nil), mine[len(some):]...)
		case n == 4 && len(given) > 0:
			h.giveAgain(id, given[rnd.IntN(len(given))])
		case n == 5:
			h.ask(context.Background(), id, []wish{{cap: rnd.IntN(len(caps)), op: seawall.Peek, cost: 1 + rnd.Int64N(3)}})
		default:
			ctx, cancel := patience(rnd)
			var wishes []wish
			for _, c := range rnd.Perm(len(caps))[:1+rnd.IntN(len(caps))] {
				wishes = append(wishes, wish{cap: c, cost: 1 + rnd.Int64N(3), advisory: rnd.IntN(5) == 0, id: h.number()})
			}
			mine = append(mine, h.ask(ctx, id, wishes)...)
			cancel()
		}
	}
	if len(mine) > 0 {
		h.give(id, true, mine)
	}
}

// run lets clients do something at the same time. In the end all is given back.
func (h *leaseHistory) run(seed uint64, clients, deeds int, patience func(*rand.Rand) (context.Context, context.CancelFunc)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for id := range clients {
		rnd := rand.New(rand.NewPCG(seed, uint64(id)))
		all.Go(func() {
			<-start
			h.client(id, rnd, deeds, patience)
		})
	}
	close(start)
	all.Wait()
	h.add(&h.done, clients, ends, nil, h.since(), forever-1, grants{})
}

// judge tells whether the history is linearizable, if need be with what may have been done for those who did not wait.
// There are far more orders to look at then.
func (h *leaseHistory) judge() porcupine.CheckResult {
	model := sequentialLeases()
	verdict := porcupine.CheckOperationsTimeout(model, h.done, undecided/6)
	for _, more := range [][]porcupine.Operation{h.ghosts, slices.Concat(h.ghosts, h.late)} {
		if verdict != porcupine.Ok && len(more) > 0 {
			h.doubtful = true
			verdict = porcupine.CheckOperationsTimeout(model, slices.Concat(more, h.done), undecided/2)
		}
	}
	return verdict
}

func (h *leaseHistory) mustBeLinearizable(t *testing.T, seed uint64) {
	t.Helper()
	if verdict := h.judge(); verdict != porcupine.Ok {
		t.Fatalf("seed %d: linearizable: %s\n%s", seed, verdict, h)
	}
}

// String lists what was done, in the order in which it began.
func (h *leaseHistory) String() string {
	sort.Slice(h.done, func(i, j int) bool { return h.done[i].Call < h.done[j].Call })
	var text strings.Builder
	for _, op := range h.done {
		until := time.Duration(op.Return).String()
		if op.Return == forever {
			until = "?"
		}
		fmt.Fprintf(&text, "client %d, %v to %s: %s\n", op.ClientId, time.Duration(op.Call), until, describeAct(op.Input.(act), op.Output.(grants)))
	}
	return text.String()
}
