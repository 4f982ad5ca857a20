package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// history is what clients asked of a store at the same time, and what they were told.
type history struct {
	stores []seawall.Store           // each client has one: only who spent from a log knows which entry it is
	checks [len(slots)]seawall.Check // one on each slot, of a caller of this history
	began  time.Time

	mu     sync.Mutex
	spends int
	done   []porcupine.Operation
}

func newHistory(t *testing.T, caller seawall.Key, stores ...seawall.Store) *history {
	h := &history{stores: stores, began: time.Now()}
	for i, s := range slots {
		rule, err := s.quota.Rule()
		require.NoError(t, err)
		limit, err := seawall.NewLimit(ratelimit.Name, s.name, seawall.FailLocal)
		require.NoError(t, err)
		h.checks[i] = seawall.Check{Limit: limit, Rule: rule, Key: caller}
	}
	return h
}

// number gives a spend its number. The store is told one more, as zero is none.
func (h *history) number() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spends++
	return h.spends - 1
}

// ask asks the store and remembers it. A refund says that the spend is still to come: it gives all back.
func (h *history) ask(ctx context.Context, client int, request []part) answer {
	checks := make([]seawall.Check, len(request))
	for i, p := range request {
		checks[i] = h.checks[p.slot]
		checks[i].Op, checks[i].Cost, checks[i].Advisory, checks[i].ID = p.op, p.cost, p.advisory, uint64(p.id)+1
		checks[i].At = time.Now().Add(time.Hour).UnixNano()
	}
	op := porcupine.Operation{ClientId: client, Input: request, Call: int64(time.Since(h.began))}
	results, err := h.stores[client%len(h.stores)].Apply(ctx, nil, checks)
	op.Return = int64(time.Since(h.began))
	var a answer
	if err != nil {
		a.unknown, op.Return = true, forever
	} else {
		for i, r := range results {
			a.parts[i] = seen{r.Admitted, r.Committed, r.Remaining}
		}
	}
	op.Output = a
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, op)
	return a
}

// client asks so often: spends from one limit or several, peeks, and takes back what it spent or may have spent.
func (h *history) client(id int, rnd *rand.Rand, requests int, patience func() (context.Context, context.CancelFunc)) {
	var mine []part
	for range requests {
		var request []part
		switch n := rnd.IntN(10); {
		case n < 2 && len(mine) > 0:
			i := rnd.IntN(len(mine))
			p := mine[i]
			p.op, p.advisory = seawall.Refund, false
			mine = append(mine[:i], mine[i+1:]...)
			request = []part{p}
		case n < 4:
			request = []part{{slot: rnd.IntN(len(slots)), op: seawall.Peek, cost: 1 + rnd.Int64N(3)}}
		default:
			for _, slot := range rnd.Perm(len(slots))[:1+rnd.IntN(len(slots))] {
				request = append(request, part{slot: slot, cost: 1 + rnd.Int64N(2), advisory: rnd.IntN(5) == 0, id: h.number()})
			}
		}
		ctx, cancel := patience()
		told := h.ask(ctx, id, request)
		cancel()
		for i, p := range request {
			if p.op == seawall.Spend && (told.unknown || told.parts[i].committed) {
				mine = append(mine, p)
			}
		}
	}
}

// run lets clients ask at the same time.
func (h *history) run(seed uint64, clients, requests int, patience func(*rand.Rand) (context.Context, context.CancelFunc)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for id := range clients {
		rnd := rand.New(rand.NewPCG(seed, uint64(id)))
		all.Go(func() {
			<-start
			h.client(id, rnd, requests, func() (context.Context, context.CancelFunc) { return patience(rnd) })
		})
	}
	close(start)
	all.Wait()
}

// judge tells whether the history is linearizable.
func (h *history) judge() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(sequential(), h.done, undecided)
}

// mustBeLinearizable fails if the history is not, and then shows it.
func (h *history) mustBeLinearizable(t *testing.T, seed uint64) {
	t.Helper()
	if verdict := h.judge(); verdict != porcupine.Ok {
		t.Fatalf("seed %d: linearizable: %s\n%s", seed, verdict, h)
	}
}

// String lists what was asked, in the order in which it was.
func (h *history) String() string {
	sort.Slice(h.done, func(i, j int) bool { return h.done[i].Call < h.done[j].Call })
	var text strings.Builder
	for _, op := range h.done {
		until := time.Duration(op.Return).String()
		if op.Return == forever {
			until = "?"
		}
		fmt.Fprintf(&text, "client %d, %v to %s: %s\n", op.ClientId, time.Duration(op.Call), until, describe(op.Input.([]part), op.Output.(answer)))
	}
	return text.String()
}

// unknowns counts the requests of which it is not known what became of them.
func (h *history) unknowns() (n int) {
	for _, op := range h.done {
		if op.Output.(answer).unknown {
			n++
		}
	}
	return n
}

// seeds returns from which seed on histories are drawn: always the same, or in a long run others.
func seeds() uint64 {
	if long() {
		return uint64(time.Now().UnixNano()) ^ uint64(os.Getpid())
	}
	return 1
}
