package ratelimit_test

import (
	"context"
	"fmt"
	"time"
	_ "time/tzdata"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// Several limits on one caller, stricter ones on searches, guests apart, and a customer who pays for more.
func ExampleNew() {
	pacific, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		fmt.Println(err)
		return
	}
	big := seawall.NewKey("user", "42")
	limiter, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{
			Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(10), 50), Callers: ratelimit.SignedIn,
			Plans: map[string]ratelimit.Quota{"gold": ratelimit.TokenBucket(ratelimit.PerSecond(100), 500)},
			Plan: func(r *seawall.Request) string {
				if r.Key == big {
					return "gold"
				}
				return ""
			},
		},
		{Name: "search", Quota: ratelimit.SlidingLog(30, time.Minute), Routes: []string{"/v1/search", "/v1/find/*"}},
		{
			Name: "day", Quota: ratelimit.FixedWindow(10_000, ratelimit.Daily().In(pacific)),
			Cost: func(r *seawall.Request) int64 {
				if r.Route == "/v1/search" {
					return 100
				}
				return 1
			},
		},
		ratelimit.Guest(),
	}})
	if err != nil {
		fmt.Println(err) // names the policy, the field and the value
		return
	}
	for _, r := range []*seawall.Request{
		{Key: seawall.NewKey("user", "7"), Authenticated: true, Route: "/v1/search"},
		{Key: big, Authenticated: true, Route: "/v1/list"},
		{Key: seawall.NewKey("192.0.2.7"), Route: "/v1/list"},
	} {
		fmt.Println(r.Key)
		for _, c := range limiter.Plan(nil, r) {
			fmt.Println(" ", c.Limit.Policy(), c.Cost, "of", c.Rule.(ratelimit.Rule).Limit())
		}
	}
	// Output:
	// 4.user1.7
	//   api 1 of 50
	//   search 1 of 30
	//   day 100 of 10000
	// 4.user2.42
	//   api 1 of 500
	//   day 1 of 10000
	// 9.192.0.2.7
	//   day 1 of 10000
	//   guest 1 of 5
}

// A program that calls somebody else's API, which allows so many units a minute.
func ExampleBudget() {
	limiter, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "units", Quota: ratelimit.SlidingLog(250, time.Minute)},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	store := memstore.New(memstore.Config{}) // or redisstore, for several processes
	defer func() { _ = store.Close(context.Background()) }()
	budget, err := ratelimit.NewBudget(store, limiter)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	search := &seawall.Request{Key: seawall.NewKey("their-api"), Cost: 100}
	for range 2 {
		answer, err := budget.Wait(ctx, search) // in line, until there are 100
		fmt.Println(answer.Remaining, err)
	}
	answer, err := budget.Allow(ctx, search) // at once, or not
	fmt.Println(answer.Admitted, answer.Remaining, err)
	// Output:
	// 150 <nil>
	// 50 <nil>
	// false 50 <nil>
}
