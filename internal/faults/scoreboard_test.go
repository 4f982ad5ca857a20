package faults

import (
	"fmt"
	"math"
	"time"
)

// figure is a line of the scoreboard.
type figure struct {
	name, promised, measured string
	kept                     bool
}

// scoreboard sums up what the faults showed.
func scoreboard(rows map[int]*row) []figure {
	var asked, served, beyond, left, goroutines int
	var grown int64
	recovery := time.Duration(0)
	for _, r := range rows {
		beyond, left, goroutines = beyond+r.beyond, left+r.left, max(goroutines, r.goroutines)
		for _, o := range r.outages {
			asked, served = asked+o.asked, served+o.served
			grown = max(grown, o.grown)
			recovery = max(recovery, o.recovery)
		}
	}
	board := []figure{{
		"requests served through all faults, logins aside", "100 %",
		fmt.Sprintf("%d of %d", served, asked), served == asked && asked > 0,
	}}
	for number, name := range []string{1: "frozen", 2: "killed"} {
		if name == "" {
			continue
		}
		f := figure{name: "p99 added with Redis " + name + ", until the breaker opens / then", promised: "≤ 8 / ≤ 0.3 ms", measured: "none", kept: true}
		for _, o := range rows[number].outages {
			f.measured = fmt.Sprintf("%.2f / %.2f ms", ms(o.before), ms(o.after))
			f.kept = f.kept && o.before <= addedBefore && o.after <= addedAfter
		}
		f.kept = f.kept && len(rows[number].outages) > 0
		board = append(board, f)
	}
	return append(board,
		figure{"logins admitted beyond their limit, of which a loss of data gives one burst more", "0", fmt.Sprint(beyond), beyond == 0},
		figure{
			"admitted by 10 instances in a minute without Redis", "≤ 1.2 × the limit",
			fmt.Sprintf("%.3f ×", rows[56].fleetRatio), rows[56].fleetRatio > 0 && rows[56].fleetRatio <= 1.2,
		},
		figure{"leases left by abandoned calls and dead instances", "0 after their TTL", fmt.Sprint(left), left == 0},
		figure{
			"wrongly refused after Redis' clock stepped back an hour", "≤ 1 s, a refill period",
			text(rows[30].denied), rows[30].denied <= time.Second,
		},
		figure{"until Redis decides again once it is back, at most", "≤ " + text(back), text(recovery), recovery <= back},
		figure{"goroutines left behind by a fault, at most", "0", fmt.Sprint(goroutines), goroutines <= 0},
		figure{
			"live heap more than before, during any fault", "≤ 8 MB",
			fmt.Sprintf("%.1f MB", math.Max(0, float64(grown))/(1<<20)), grown <= grow,
		},
	)
}
