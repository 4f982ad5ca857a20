package seawalltest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/seawalltest"
)

// answer is what the app under test does with a request.
func answer(stack *seawall.Stack, route string) int {
	ctx := context.Background()
	admission := stack.Admit(ctx, &seawall.Request{Key: seawall.NewKey("alice"), Route: route})
	defer admission.Done(ctx)
	switch d := admission.Decision(); {
	case !d.Denied:
		return http.StatusOK
	case d.Cause == seawall.CauseQuota:
		return http.StatusTooManyRequests
	default:
		return http.StatusServiceUnavailable
	}
}

// When the store is down the app serves on, but for logins, whose limit fails closed.
func ExampleStore_Fail() {
	login := func(r *seawall.Request) bool { return r.Route == "/login" }
	limits, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(10), 20)},
		{Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(5), 5), Match: login, OnFailure: seawall.FailClosed},
	}})
	if err != nil {
		log.Fatal(err)
	}
	var store seawalltest.Store
	var seen seawalltest.Recorder
	stack, err := seawall.New(seawall.Config{Store: &store, Observer: &seen}, limits)
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println("up:  ", answer(stack, "/orders"), answer(stack, "/login"))
	store.Fail(errors.New("no route to host"))
	fmt.Println("down:", answer(stack, "/orders"), answer(stack, "/login"))
	store.Fail(nil)
	store.Deny("ratelimit:login", seawall.Never)
	fmt.Println("up:  ", answer(stack, "/orders"), answer(stack, "/login"))
	for _, f := range seen.Fallbacks() {
		fmt.Println(f.Name, f.Outcome, f.Reason)
	}
	// Output:
	// up:   200 200
	// down: 200 503
	// up:   200 429
	// ratelimit:api allowed error
	// ratelimit:api allowed error
	// ratelimit:login denied error
}
