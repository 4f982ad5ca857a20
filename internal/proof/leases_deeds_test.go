package proof

import (
	"context"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
)

// release gives back leases, or what an instance takes for ones: it does nothing about those that are not its own.
func (w *leaseWorld) release(t rapid.TB, instance int, leases ...*holding) {
	for _, h := range leases {
		w.note("at %d: release #%d of %s", instance, h.id, h.desk.name)
	}
	for i, k := range w.keepers {
		var all []seawall.Lease
		for _, h := range leases {
			all = append(all, h.lease(k))
			if i == 0 && h.instance == instance && !h.released && !h.forgot {
				w.model.Release(h.explained())
			}
		}
		require.NoError(t, k.instances()[instance].store.Release(context.Background(), all...))
	}
	for _, h := range leases {
		if h.instance == instance && !h.released {
			h.released = true
			w.seen.released++
		}
	}
}

// renew renews leases that an instance holds. They are those that are due, if some store decides that by itself.
func (w *leaseWorld) renew(t rapid.TB, instance int, leases []*holding) {
	want := int64(0)
	for i, k := range w.keepers {
		var all []seawall.Lease
		for _, h := range leases {
			all = append(all, h.lease(k))
			if i > 0 {
				continue
			}
			w.note("at %d: renew #%d of %s", instance, h.id, h.desk.name)
			if w.model.Renew(w.now, h.explained()) {
				want++
			}
			w.renewed(h)
		}
		if lost := k.renew(t, instance, all); lost >= 0 {
			require.Equal(t, want, lost, "were lost:\n%s", strings.Join(w.history, "\n"))
		}
	}
	w.seen.renewed += len(leases)
	w.seen.lost += int(want)
}

// lose has the stores lose all data.
func (w *leaseWorld) lose(t rapid.TB) {
	w.note("all data is lost")
	w.model.Lose()
	w.lost(func(*holding) bool { return true })
	for _, k := range w.keepers {
		k.lose(t)
		for _, h := range w.held {
			h.forgot = h.forgot || !k.keepsLedger()
		}
	}
	w.set(w.now)
	w.seen.losses++
}

// crash ends an instance: nobody renews what it held, nor gives it back. A new one has its place.
func (w *leaseWorld) crash(instance int) {
	w.note("%d crashes", instance)
	for _, h := range w.held {
		if h.instance == instance {
			h.crashed = true
		}
	}
	w.seen.crashes++
}

// end gives back all there is, and shows that nothing is left, now nor after what is held was renewed: nothing.
func (w *leaseWorld) end(t rapid.TB) {
	for i := range w.keepers[0].instances() {
		var mine []*holding
		for _, h := range w.held {
			if h.instance == i {
				h.crashed = false
				mine = append(mine, h)
			}
		}
		for len(mine) > 0 {
			n := min(len(mine), 8)
			w.release(t, i, mine[:n]...)
			mine = mine[n:]
		}
		for _, k := range w.keepers {
			k.renew(t, i, nil)
		}
	}
	for _, d := range w.desks {
		if _, ok := d.rules[0].slots(); !ok {
			continue
		}
		r := w.ask(t, 0, []request{{desk: d, rule: d.rules[0], cost: 1, op: seawall.Peek}})[0]
		require.Equal(t, r.Limit, r.Remaining, "of %s something is still in flight:\n%s", d.name, strings.Join(w.history, "\n"))
		for _, k := range w.keepers {
			if on, ok := k.(*onOneRedis); ok {
				n, err := on.clock.Client().Exists(context.Background(), keyOn(request{desk: d, rule: d.rules[0]}.real(k))).Result()
				require.NoError(t, err)
				require.Zero(t, n, "a key is left:\n%s", strings.Join(w.history, "\n"))
			}
		}
	}
}
