package main

import (
	"fmt"
	"strconv"
	"strings"

	benchmarks "github.com/seawall-go/seawall/internal/bench"
)

// benchTables are those of benchmarks.md.
func benchTables(rec benchmarks.Record) map[string]string {
	return map[string]string{
		"bench-setup": benchSetup(rec), "bench-lines": markdown(benchmarks.Table(rec)) + "\n" + benchmarks.Sum(rec) + ".\n",
		"bench-everybody": benchRows(rec.Everybody, true), "bench-shedders": benchRows(rec.Shedders, false),
		"bench-echo": benchRows(rec.Echo, false), "bench-growth": benchGrowth(rec),
		"bench-process": benchProcess(rec), "bench-scale": benchScale(rec), "bench-fits": benchFits(rec),
	}
}

// benchSetup says on what, and with what, it was measured.
func benchSetup(rec benchmarks.Record) string {
	var versions []string
	for _, v := range rec.Versions {
		versions = append(versions, v.Module+" "+v.Version)
	}
	return markdown([][]string{
		{"", ""},
		{"machine", fmt.Sprintf("%s, `GOMAXPROCS=%d`; Redis, the servers and the load share it", rec.Machine, rec.Processors)},
		{"Redis", rec.Redis + ", over loopback"},
		{"wrk", rec.Wrk},
		{"rounds", fmt.Sprintf("%d of %d ms each, in an order drawn by the seed %d, and one before them that is not counted",
			rec.Rounds, rec.RoundMs, rec.Seed)},
		{"run", number(rec.Minutes) + " minutes"},
		{"peers", strings.Join(versions, ", ")},
	})
}

// figure writes a median with its quartiles.
func figure(s benchmarks.Spread) string { return benchmarks.Number(s.Median) + s.Quartiles() }

// benchRows are candidates beside each other, the first of which is ours, or nothing.
func benchRows(all []benchmarks.Row, keys bool) string {
	head := []string{"", "ns", "of the first", "allocations"}
	if keys {
		head = append(head, "bytes a key")
	}
	rows := [][]string{head}
	for _, r := range all {
		row := []string{r.Name, figure(r.Ns), benchmarks.Number(r.Ns.Median/all[0].Ns.Median) + "×", benchmarks.Number(r.Allocs)}
		if keys {
			row = append(row, number(r.Bytes))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// benchGrowth names how the cost grows.
func benchGrowth(rec benchmarks.Record) string {
	rows := [][]string{{"by", "on", "cost of a decision", "growth"}}
	for _, c := range rec.Growth {
		var costs []string
		for _, p := range c.Points {
			costs = append(costs, fmt.Sprintf("%s: %s %s", benchmarks.Short(p.N), benchmarks.Number(p.Cost.Median), c.Unit))
		}
		rows = append(rows, []string{c.By, c.Where, strings.Join(costs, ", "), c.Growth()})
	}
	return markdown(rows)
}

// benchProcess says what the servers did for wrk.
func benchProcess(rec benchmarks.Record) string {
	rows := [][]string{{
		"Echo", "1 ms of work", "requests/s", "p50, ms", "p99, ms", "processor per request, µs", "allocations per request",
		"garbage collector, % of the processor time", "decided without Redis, %",
	}}
	setting := map[string]string{"bare": "bare", "memstore": "full stack, memstore", "redis": "full stack, Redis"}
	work := map[string]string{"sleep": "asleep", "spin": "of a processor"}
	for _, s := range rec.Process {
		fallbacks := ""
		if s.Setting == "redis" {
			fallbacks = benchmarks.Number(100 * s.Fallbacks)
		}
		gc := benchmarks.Spread{Median: 100 * s.GC.Median, Low: 100 * s.GC.Low, High: 100 * s.GC.High}
		rows = append(rows, []string{
			setting[s.Setting], work[s.Work], figure(s.Throughput), figure(s.P50), figure(s.P99), figure(s.CPU), figure(s.Allocs),
			figure(gc), fallbacks,
		})
	}
	return markdown(rows)
}

// Loads in decisions a second, and how busy a shard may be on them.
const (
	ordinary, tenfold, hundredfold = 50_000, 500_000, 5_000_000
	halfBusy                       = 0.5
)

// benchScale says what one primary carries.
func benchScale(rec benchmarks.Record) string {
	rows := [][]string{{
		"", "µs of a core per decision", "decisions a script call", "one core carries, a second", "cores for 50 k/s",
		"MB/s in and out at 50 k/s", "shards, half busy: 50 k/s", "500 k/s", "5 M/s",
	}}
	for _, p := range rec.Scale {
		rows = append(rows, []string{
			benchKind(p), figure(p.CPU), benchmarks.Number(p.Batch), benchmarks.Number(p.PerSecond()), benchmarks.Number(p.Cores(ordinary)),
			benchmarks.Number(ordinary*p.In/1e6) + " and " + benchmarks.Number(ordinary*p.Out/1e6),
			strconv.Itoa(p.Shards(ordinary, halfBusy)), strconv.Itoa(p.Shards(tenfold, halfBusy)),
			strconv.Itoa(p.Shards(hundredfold, halfBusy)),
		})
	}
	return markdown(rows)
}

// benchFits says whether the load that one core has to carry fits.
func benchFits(rec benchmarks.Record) string {
	rows := [][]string{{"50 k requests/s of 200 k callers on one core of Redis", "may take", ""}}
	for _, p := range rec.Scale {
		busy := map[string]float64{"one bucket": halfBusy, "three layers": 1}[p.Kind]
		if busy > 0 {
			rows = append(rows, []string{benchKind(p), fmt.Sprintf("%v of the core", busy), p.Fits(ordinary, busy)})
		}
	}
	return markdown(rows)
}

func benchKind(p benchmarks.Primary) string {
	switch p.Kind {
	case "one bucket":
		return "the rate layer: one bucket"
	case "three layers":
		return "the full stack: three layers, with releases"
	case "redis_rate":
		return "redis_rate: one bucket"
	}
	return p.Kind
}
