package workershed_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/workershed"
	"github.com/seawall-go/seawall/workershed/cgroup"
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

func ExampleConfig_signals() {
	jobs := make(chan string, 100)
	signals := append(cgroup.Signals(), workershed.Signal{
		Name: "job_queue",
		Read: func(time.Duration) (float64, error) { return float64(len(jobs)) / float64(cap(jobs)), nil },
	})
	shedder, err := workershed.New(workershed.Config{Workers: 64, Signals: signals})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = shedder.Close() }()
	for _, s := range shedder.Signals() {
		fmt.Println(s.Name)
	}
	// Output:
	// cgroup_cpu
	// cgroup_throttling
	// memory
	// job_queue
}
