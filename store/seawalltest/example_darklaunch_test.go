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

// A dark launch: in log-only mode a limit counts whom it would deny, and refuses nobody. Then it is enforced.
func ExampleRecorder() {
	var clock seawalltest.Clock
	var seen seawalltest.Recorder
	store := memstore.New(memstore.Config{Now: clock.Now})
	ctx := context.Background()
	defer func() { _ = store.Close(ctx) }()

	// launch builds the app's stack, always on the same store, and returns how many of five requests it refuses.
	launch := func(modes seawall.Fixed) (refused int) {
		limits, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
			{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(1), 2)},
		}})
		if err != nil {
			log.Fatal(err)
		}
		stack, err := seawall.New(seawall.Config{Store: store, Observer: &seen, Modes: modes}, limits)
		if err != nil {
			log.Fatal(err)
		}
		for range 5 {
			admission := stack.Admit(ctx, &seawall.Request{Key: seawall.NewKey("alice")})
			if admission.Decision().Denied {
				refused++
			}
			admission.Done(ctx)
		}
		return refused
	}

	fmt.Println("log-only refuses", launch(seawall.Fixed{"ratelimit:api": seawall.LogOnly}))
	fmt.Println("and would deny", seen.Count("ratelimit:api", seawall.WouldDeny), seen.Outcomes("ratelimit"))
	seen.Reset()
	fmt.Println("enforced refuses", launch(nil))
	fmt.Println("and denies", seen.Count("ratelimit:api", seawall.Denied))
	// Output:
	// log-only refuses 0
	// and would deny 3 [allowed allowed would_deny would_deny would_deny]
	// enforced refuses 5
	// and denies 5
}
