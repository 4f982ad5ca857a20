package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

// namespace keeps the budget apart from all else on the same Redis. All who spend from it need the same.
const namespace = "outbound"

// The operations that the provider offers, which are its paths.
const (
	search = "/search"
	list   = "/list"
)

// price is the provider's price list, in units. What is not on it may be as dear as anything.
func price(operation string) int64 {
	if operation == list {
		return 1
	}
	return 100
}

// account is who pays: as the provider knows us, not as we know our workers.
func account() seawall.Key { return seawall.NewKey("video-api", "project-7") }

// dayPolicy is the name of the policy of the day's units.
const dayPolicy = "day"

// daily is the budget: a day's units, by the provider's price list and calendar.
func (o options) daily() ratelimit.Policy {
	return ratelimit.Policy{
		Name:  dayPolicy,
		Quota: ratelimit.FixedWindow(o.units, ratelimit.Daily().In(o.zone)),
		Cost:  func(r *seawall.Request) int64 { return price(r.Route) },
	}
}

// speed is how fast the provider lets us spend it: every call counts as one, and a small burst keeps any second
// near to what is allowed in one.
func (o options) speed() ratelimit.Policy {
	return ratelimit.Policy{
		Name:  "second",
		Quota: ratelimit.TokenBucket(ratelimit.PerSecond(o.rate), max(1, o.rate/10)),
	}
}

// newBudget returns a budget that admits a call if all policies do, and spends from all of them or none.
func newBudget(store seawall.Store, policies ...ratelimit.Policy) (*ratelimit.Budget, error) {
	limiter, err := ratelimit.New(ratelimit.Config{Policies: policies})
	if err != nil {
		return nil, err
	}
	return ratelimit.NewBudget(store, limiter)
}

// openStore returns where the budget is kept. There is nothing to fall back on, on purpose: workers that each
// went on by themselves would overdraw it.
func (o options) openStore() (store seawall.Store, closeIt func(context.Context) error, err error) {
	if o.redis == nil {
		memory := memstore.New(memstore.Config{})
		return memory, memory.Close, nil
	}
	conn := redis.NewClient(o.redis)
	shared, err := redisstore.New(redisstore.Config{Client: conn, Namespace: namespace})
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return shared, func(ctx context.Context) error { return errors.Join(shared.Close(ctx), conn.Close()) }, nil
}
