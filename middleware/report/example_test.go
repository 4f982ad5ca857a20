package report_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/report"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// A limit of one request a second and bursts of 5 is dark-launched; a customer sends 12 at once.
func ExampleRecorder() {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	recorder, err := report.New(report.Config{
		CallerID: seawall.SecretOf([32]byte{1}).CallerID, // in an application: identity.Hasher.CallerID
		Now:      func() time.Time { return noon },       // so that this example prints the same every time
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	limits, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 5)},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	stack, err := seawall.New(seawall.Config{
		Store:    memstore.New(memstore.Config{Now: func() time.Time { return noon }}),
		Modes:    seawall.Fixed{"ratelimit": seawall.LogOnly},
		Observer: seawall.Observers(recorder), // and telemetry.New's
	}, limits)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer stack.Close(ctx)

	for range 12 {
		r := seawall.Request{Key: seawall.NewKey("user", "42"), Name: "Acme", Route: "/v1/charges"}
		stack.Admit(ctx, &r).Done(ctx)
	}
	if err := recorder.Report().WriteTable(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// refusals from 2026-11-30 12:00:00 to 2026-11-30 12:00:00 UTC (0s), 1 instance
	//
	// LAYER      POLICY  MODE      REQUESTS  REFUSED  WOULD REFUSE  SHARE  PEAK/S
	// ratelimit  api     log-only  12        0        7             58.3%  7
	//
	// ratelimit:api (token bucket, 5 in 5s), first 2026-11-30 12:00:00, last 2026-11-30 12:00:00
	//   ROUTE        TIER  REFUSED  WOULD REFUSE
	//   /v1/charges  read  0        7
	//
	//   CALLER        NAME  REFUSED  WOULD REFUSE  OF THE LAST  FIRST                LAST                 MEAN/S  PEAK/S  LIMIT  ENOUGH
	//   3bnku25ivdbn  Acme  0        7             7            2026-11-30 12:00:00  2026-11-30 12:00:00  -       7       5      12
}
