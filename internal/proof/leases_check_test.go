package proof

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/proof/model"
)

// desk is where a caller takes slots under one policy, by the rules that it has had in turn; or where it spends
// from a bucket, if there is one among the checks.
type desk struct {
	name  string
	limit *seawall.Limit
	key   seawall.Key
	rules []rule
	last  seawall.Result // what its last check was told

	disturbed bool // something happened after which more may be in flight than fits
}

// rule is one rule, explained and real.
type rule struct {
	explained model.Rule
	real      seawall.Rule
	text      string
}

func (r rule) slots() (s model.Slots, ok bool) {
	s, ok = r.explained.(model.Slots)
	return s, ok
}

// request is one check of a request, for the model and for stores.
type request struct {
	desk *desk
	rule rule
	cost int64
	op   seawall.Op
	id   uint64

	advisory, countOnly, timed bool
}

// takes is what the model says that it costs.
func (r request) takes() int64 {
	if s, ok := r.rule.slots(); ok {
		return s.Takes(r.cost)
	}
	return r.cost
}

func (r request) explained() model.Check {
	return model.Check{
		Rule: r.rule.explained, Name: r.desk.name, Cost: r.takes(), ID: r.id, Op: r.op,
		Advisory: r.advisory, CountOnly: r.countOnly,
	}
}

func (r request) real(k keeper) seawall.Check {
	return seawall.Check{
		Limit: r.desk.limit, Rule: k.rule(r.rule.real), Key: r.desk.key, Cost: r.cost, ID: r.id, Op: r.op,
		Advisory: r.advisory, CountOnly: r.countOnly, Timed: r.timed,
	}
}

// lease is what it takes, as it is released: so that who does waits for it.
func (r request) lease(k keeper) seawall.Lease {
	c := r.real(k)
	l, _ := c.Lease()
	l.Last = true
	return l
}

func (r request) String() string {
	text := [...]string{seawall.Spend: "take", seawall.Peek: "peek", seawall.Reset: "reset"}[r.op]
	text = fmt.Sprintf("%s #%d, %d of %s (%s)", text, r.id, r.cost, r.desk.name, r.rule.text)
	if r.advisory {
		text += ", advisory"
	}
	if r.countOnly {
		text += ", count only"
	}
	return text
}

// manner says what may happen in a trace.
type manner struct {
	backwards bool // the clock may step back; then nothing that has expired is forgotten
	calm      bool // nothing is lost or reset, rules do not change, nobody claims what was not granted
	crashes   bool // instances die
	oneTTL    bool // all rules of a desk have the same TTL, or a key that expires on Redis takes longer leases along
	mixed     bool // of a desk's rules some may be weighted and others not
}

const mostTTL = time.Hour

// drawDesks draws one to three desks of one caller or two, and perhaps a bucket.
func drawDesks(t *rapid.T, names *callers, m manner) []*desk {
	var desks []*desk
	key := names.next()
	for i := range rapid.IntRange(1, 3).Draw(t, "desks") {
		if odds(t, "another caller", 3) {
			key = names.next()
		}
		ttl, weighted := drawTTL(t), rapid.Bool().Draw(t, "weighted")
		rules := 1
		if !m.calm {
			rules = rapid.IntRange(1, 3).Draw(t, "rules in turn")
		}
		var list []rule
		for range rules {
			if !m.oneTTL && odds(t, "another TTL", 3) {
				ttl = drawTTL(t)
			}
			if m.mixed {
				weighted = rapid.Bool().Draw(t, "weighted")
			}
			n := oneOf(t, "slots", 1, 2, 3, upTo(t, "slots", 12), upTo(t, "slots", 12), upTo(t, "slots", most))
			list = append(list, slotsOf(t, n, ttl, weighted))
		}
		desks = append(desks, newDesk(t, "policy-"+string(rune('a'+i)), key, list...))
	}
	if odds(t, "a bucket", 3) {
		l := buckets(t)
		desks = append(desks, newDesk(t, "bucket", key, rule{l.explained, l.real, l.text}))
	}
	return desks
}

func drawTTL(t *rapid.T) time.Duration {
	return oneOf(t, "TTL", time.Second, concurrency.DefaultTTL, time.Second-time.Millisecond+between(t, "TTL in ms", time.Millisecond, mostTTL-time.Second))
}

func slotsOf(t rapid.TB, n int64, ttl time.Duration, weighted bool) rule {
	real, err := concurrency.NewSlots(n, ttl)
	require.NoError(t, err)
	text := fmt.Sprintf("%d slots for %v", n, ttl)
	if weighted {
		real, text = real.Weighted(), text+", weighted"
	}
	return rule{model.Slots{Max: n, TTL: ttl, Weighted: weighted}, real, text}
}

func newDesk(t rapid.TB, policy string, key seawall.Key, rules ...rule) *desk {
	l, err := seawall.NewLimit(concurrency.Name, policy, seawall.FailLocal)
	require.NoError(t, err)
	return &desk{name: policy + " of " + key.String(), limit: l, key: key, rules: rules}
}
