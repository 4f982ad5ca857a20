package proof

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/proof/model"
	"github.com/seawall-go/seawall/ratelimit"
)

// account is what a caller may spend under one policy, by the limits that it has had in turn.
type account struct {
	name   string
	limit  *seawall.Limit
	key    seawall.Key
	limits []limit
	last   seawall.Result // what its last check was told
	spent  []spent
}

// spent is a check that spent, and when.
type spent struct {
	check
	at int64
}

// check is one check, for the model and for stores.
type check struct {
	account *account
	of      int // which of its limits
	cost    int64
	op      seawall.Op
	id      uint64
	at      int64 // of a refund: when it was spent, in nanoseconds; otherwise when it was decided, if timed

	advisory, countOnly, timed bool
}

func (c check) limit() limit { return c.account.limits[c.of] }

func (c check) explained() model.Check {
	return model.Check{
		Rule: c.limit().explained, Name: c.account.name, Cost: c.cost, ID: c.id, Op: c.op, At: c.at,
		Advisory: c.advisory, CountOnly: c.countOnly,
	}
}

func (c check) real() seawall.Check {
	return seawall.Check{
		Limit: c.account.limit, Rule: c.limit().real, Key: c.account.key, Cost: c.cost, ID: c.id, Op: c.op, At: c.at,
		Advisory: c.advisory, CountOnly: c.countOnly, Timed: c.timed,
	}
}

func (c check) String() string {
	text := [...]string{seawall.Spend: "spend", seawall.Peek: "peek", seawall.Refund: "refund", seawall.Reset: "reset"}[c.op]
	text = fmt.Sprintf("%s %d of %s (%s)", text, c.cost, c.account.name, c.limit().text)
	if c.advisory {
		text += ", advisory"
	}
	if c.countOnly {
		text += ", count only"
	}
	if c.op == seawall.Refund {
		text += fmt.Sprintf(", spend %d at %s", c.id, time.Unix(0, c.at).UTC().Format(dateTime+"000"))
	}
	return text
}

// callers numbers those of all traces.
type callers struct{ n atomic.Int64 }

func (c *callers) next() seawall.Key { return seawall.NewKey("caller", fmt.Sprint(c.n.Add(1))) }

func newAccount(t rapid.TB, policy string, key seawall.Key, limits ...limit) *account {
	l, err := seawall.NewLimit(ratelimit.Name, policy, seawall.FailLocal)
	require.NoError(t, err)
	return &account{name: policy + " of " + key.String(), limit: l, key: key, limits: limits}
}

func asReal(checks []check) (all []seawall.Check) {
	for _, c := range checks {
		all = append(all, c.real())
	}
	return all
}

func asExplained(checks []check) (all []model.Check) {
	for _, c := range checks {
		all = append(all, c.explained())
	}
	return all
}
