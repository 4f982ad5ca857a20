package workershed_test

import (
	"context"
	"fmt"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/workershed"
)

func Example() {
	shedder, err := workershed.New(workershed.Config{Workers: 2})
	if err != nil {
		panic(err)
	}
	stack, err := seawall.New(seawall.Config{}, shedder)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer func() { _ = stack.Close(ctx) }()

	// Three requests on two workers are the hard cap; they are not done yet.
	for range 3 {
		a := stack.Admit(ctx, &seawall.Request{Tier: seawall.Write})
		defer a.Done(ctx)
	}

	read := stack.Admit(ctx, &seawall.Request{Tier: seawall.Read})
	defer read.Done(ctx)
	fmt.Println("read denied:", read.Decision().Denied, "retry after:", read.Decision().RetryAfter)

	charge := stack.Admit(ctx, &seawall.Request{Tier: seawall.Critical})
	defer charge.Done(ctx)
	fmt.Println("charge denied:", charge.Decision().Denied)
	fmt.Println("utilization:", shedder.Utilization())

	// Output:
	// read denied: true retry after: 1s
	// charge denied: false
	// utilization: 2
}
