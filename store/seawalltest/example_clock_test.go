package seawalltest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/seawalltest"
)

// A real rate limit, by a clock that the test moves: nobody sleeps.
func ExampleClock() {
	limits, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(1), 2)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	var clock seawalltest.Clock
	store := memstore.New(memstore.Config{Now: clock.Now})
	stack, err := seawall.New(seawall.Config{Store: store}, limits)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer func() { _ = stack.Close(ctx) }()
	ask := func() seawall.Decision {
		admission := stack.Admit(ctx, &seawall.Request{Key: seawall.NewKey("alice")})
		defer admission.Done(ctx)
		return admission.Decision()
	}

	for range 3 {
		d := ask()
		fmt.Println("denied:", d.Denied, "retry after:", d.RetryAfter)
	}
	clock.Advance(ask().RetryAfter - 1)
	fmt.Println("a nanosecond early:", ask().Denied)
	clock.Advance(1)
	fmt.Println("in time:", ask().Denied)
	// Output:
	// denied: false retry after: 0s
	// denied: false retry after: 0s
	// denied: true retry after: 1m0s
	// a nanosecond early: true
	// in time: false
}
