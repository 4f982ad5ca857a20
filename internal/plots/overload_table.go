package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seawall-go/seawall/internal/overload"
)

// overloadTables are those of overload.md.
func overloadTables(rec overload.Record) map[string]string {
	return map[string]string{
		"overload-setup": overloadSetup(rec), "overload-tiers": overloadTiers(rec),
		"overload-around": overloadAround(rec), "overload-runs": overloadRuns(rec),
	}
}

// overloadSetup says on what, and with what, it was measured.
func overloadSetup(rec overload.Record) string {
	var mix, parts []string
	for tier, name := range overload.TierNames() {
		mix = append(mix, fmt.Sprintf("%.0f %% %s", 100*rec.Mix[tier], name))
	}
	for _, p := range rec.Parts {
		parts = append(parts, fmt.Sprintf("%d s %s at %v×", p.Seconds, p.Name, p.Times))
	}
	rows := [][]string{
		{"", ""},
		{"machine", rec.Machine + "; server and load share it"},
		{"server", fmt.Sprintf(
			"`GOMAXPROCS=%d payments -work cpu -workers %d`, %d ms of a processor per request", rec.Processors, rec.Workers, rec.WorkMs)},
		{"load", strings.Join(parts, ", ") + fmt.Sprintf(" of the capacity of %.0f requests a second; open loop", rec.Capacity)},
		{"mix", strings.Join(mix, ", ")},
		{"clients", fmt.Sprintf("%d live and as many test keys; a client gives up after %v s and does not retry", rec.Callers, rec.Patience)},
	}
	return markdown(rows)
}

// overloadTiers says what became of every tier while there was too much to do.
func overloadTiers(rec overload.Record) string {
	rows := [][]string{{
		"tier", "shedder", "run", "sent", "served", "503", "gave up", "p50 / p99 of the served, ms", "p50 / p99 of all, ms",
	}}
	for tier, name := range overload.TierNames() {
		for _, shedder := range []string{overload.Off, overload.Enforce} {
			for i, r := range rec.Runs {
				if r.Shedder != shedder {
					continue
				}
				o := worst(rec, r).Tiers[tier]
				rows = append(rows, []string{
					name, shedder, strconv.Itoa(i + 1), strconv.Itoa(o.Sent), percent(o),
					strconv.Itoa(o.Refused), strconv.Itoa(o.GaveUp),
					times(o.Served > 0, o.ServedP50, o.ServedP99), times(o.Sent > 0, o.P50, o.P99),
				})
			}
		}
	}
	return markdown(rows)
}

// worst is the part of a run with the most load.
func worst(rec overload.Record, r overload.Run) overload.Played { return r.Parts[heaviest(rec)] }

// heaviest is its number.
func heaviest(rec overload.Record) (most int) {
	for i, p := range rec.Parts {
		if p.Times > rec.Parts[most].Times {
			most = i
		}
	}
	return most
}

// overloadAround says what became of the requests before and after.
func overloadAround(rec overload.Record) string {
	rows := [][]string{{"part", "shedder", "run", "sent", "served", "503", "gave up", "critical served", "critical p99 of all, ms"}}
	for i, part := range rec.Parts {
		for k, r := range rec.Runs {
			p := r.Parts[i]
			all := overload.All(p.Tiers[:]...)
			rows = append(rows, []string{
				part.Name, r.Shedder, strconv.Itoa(k + 1), strconv.Itoa(all.Sent), percent(all), strconv.Itoa(all.Refused),
				strconv.Itoa(all.GaveUp), percent(p.Tiers[0]), number(p.Tiers[0].P99),
			})
		}
	}
	return markdown(rows)
}

// overloadRuns says how the runs went.
func overloadRuns(rec overload.Record) string {
	rows := [][]string{{
		"run", "shedder", "its capacity before / after, requests/s", "served under overload, requests/s",
		"processors taken by the server",
		"by the load", "sent late by, p99, ms", "most in flight", "scrapes answered",
	}}
	for i, r := range rec.Runs {
		most, answered := 0.0, 0
		for _, s := range r.Seconds {
			if s.InFlight != nil {
				most = max(most, *s.InFlight)
				answered++
			}
		}
		p := worst(rec, r)
		before, after := number(r.Before), "backlog"
		if r.After > 0 {
			after = number(r.After)
		}
		rows = append(rows, []string{
			strconv.Itoa(i + 1), r.Shedder, before + " / " + after,
			number(float64(overload.All(p.Tiers[:]...).Served) / float64(rec.Parts[heaviest(rec)].Seconds)),
			taken(p.Server, rec.Processors), fmt.Sprintf("%.2f", p.Generator), fmt.Sprintf("%.1f", p.LateP99),
			number(most), fmt.Sprintf("%d of %d", answered, len(r.Seconds)),
		})
	}
	return markdown(rows)
}

func percent(o overload.Outcome) string { return fmt.Sprintf("%.1f %%", 100*o.Share()) }

func number(x float64) string { return fmt.Sprintf("%.0f", x) }

func times(any bool, p50, p99 float64) string {
	if !any {
		return "none"
	}
	return number(p50) + " / " + number(p99)
}

func taken(x float64, of int) string {
	if x == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.2f of %d", x, of)
}
