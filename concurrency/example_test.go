package concurrency_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/store/memstore"
)

// Caps for everybody, for a group of routes of which some weigh more, for streams, and for a customer who pays for more.
func ExampleNew() {
	big := seawall.NewKey("user", "42")
	limiter, err := concurrency.New(concurrency.Config{
		MaxInFlight:  20,
		MaxLongLived: 5,
		Policies: []concurrency.Policy{{
			Name: "reports", MaxInFlight: 6, Routes: []string{"/v1/reports*"},
			Weight: func(r *seawall.Request) int64 {
				if r.Route == "/v1/reports/yearly" {
					return 5
				}
				return 1
			},
			Plans: map[string]int64{"gold": 60},
			Plan: func(r *seawall.Request) string {
				if r.Key == big {
					return "gold"
				}
				return ""
			},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, limit := range limiter.Limits() {
		fmt.Println(limit.Name())
	}
	// Output:
	// concurrency:in-flight
	// concurrency:long-lived
	// concurrency:reports
}

// A gateway that bears two calls at a time, from all instances together if the store is shared. Ten may wait for it.
func ExampleLimiter_Acquire() {
	store := memstore.New(memstore.Config{})
	defer store.Close(context.Background())
	gateway, err := concurrency.New(concurrency.Config{MaxInFlight: 2, Store: store, MaxWaiting: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	send := func(text string) error {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		slot, err := gateway.Acquire(ctx, seawall.NewKey("sms-gateway"))
		if err != nil {
			return err
		}
		defer slot.Release()
		fmt.Println("sent", text)
		return nil
	}
	fmt.Println(send("hello"))

	for range 2 { // others are at it, and do not end in time
		if _, err := gateway.Acquire(context.Background(), seawall.NewKey("sms-gateway")); err != nil {
			fmt.Println(err)
		}
	}
	err = send("too late")
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// sent hello
	// <nil>
	// true
}
