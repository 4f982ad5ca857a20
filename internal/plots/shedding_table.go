package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seawall-go/seawall/workershed/sim"
)

// sheddingTables are those of shedding.md, and its code.
func sheddingTables(s *shedding) (map[string]string, error) {
	var all strings.Builder
	if err := sim.Table(&all, s.all); err != nil {
		return nil, err
	}
	out := map[string]string{"shedding-all": all.String(), "shedding-workers": workersTable(s)}
	for name, write := range map[string]func(*shedding) (string, error){"shedding-tiers": tiersTable, "shedding-log-only": logOnlyTable} {
		table, err := write(s)
		if err != nil {
			return nil, err
		}
		out[name] = table
	}
	for name, from := range sheddingCode() {
		code, err := from.code()
		if err != nil {
			return nil, err
		}
		out[name] = code
	}
	return out, nil
}

// sheddingCode is the code of shedding.md.
func sheddingCode() map[string]example {
	return map[string]example{
		"shedding-signals": {"workershed/example_test.go", "ExampleConfig_signals"},
		"shedding-sim":     {"workershed/sim/sim_test.go", "Example"},
	}
}

// workersTable says what becomes of a service whose shedder is told a wrong number of workers.
func workersTable(s *shedding) string {
	rows := [][]string{{
		"`Workers`", "refused at 0.6×", "suggested at 0.6×",
		"refused of 3×", "critical in time", "their p99", "longest queue", "reversals", "suggested at 3×",
	}}
	for _, z := range s.sized {
		rows = append(rows, []string{
			strconv.FormatInt(z.told, 10), share(inOverload(z.steady)), number(z.suggested[0]),
			share(inOverload(z.overload)), fmt.Sprintf("%.1f %%", 100*z.overload.Goodput()),
			z.overload.P99.Round(10 * time.Millisecond).String(), strconv.Itoa(longestQueue(z.overload)),
			strconv.Itoa(z.overload.Reversals), number(z.suggested[1]),
		})
	}
	return markdown(rows)
}

// inOverload adds up the calls of all tiers in the overload.
func inOverload(r *sim.Result) (all sim.Tier) {
	for _, t := range r.InOverload {
		all.Calls += t.Calls
		all.Denied += t.Denied
	}
	return all
}

func share(t sim.Tier) string {
	return fmt.Sprintf("%.1f %%", 100*float64(t.Denied)/float64(max(1, t.Calls)))
}

func longestQueue(r *sim.Result) (longest int) {
	for _, s := range r.Seconds {
		longest = max(longest, s.Queued)
	}
	return longest
}

// tiersTable says who is refused in an overload.
func tiersTable(s *shedding) (string, error) {
	rows := [][]string{{"scenario", "shedder", "test mode", "read", "write", "critical", "all"}}
	for _, scenario := range []string{mild, threefold} {
		for _, subject := range []string{bangBang, defaults} {
			r, err := s.of(scenario, subject)
			if err != nil {
				return "", err
			}
			row := []string{scenario, subject}
			for _, t := range r.InOverload {
				row = append(row, share(t))
			}
			rows = append(rows, append(row, share(inOverload(r))))
		}
	}
	return markdown(rows), nil
}

// logOnlyTable says how far what log-only tells is from what enforcement does.
func logOnlyTable(s *shedding) (string, error) {
	rows := [][]string{{"scenario", "enforced: refused", "log-only: would be refused", "difference, in percent of all calls"}}
	for _, sc := range s.scenarios {
		enforced, err := s.of(sc.Name, defaults)
		if err != nil {
			return "", err
		}
		told, err := s.of(sc.Name, logOnly)
		if err != nil {
			return "", err
		}
		if enforced.Denied() == 0 && told.Denied() == 0 {
			continue // there is nothing to tell
		}
		rows = append(rows, []string{
			sc.Name, fmt.Sprintf("%.1f %%", 100*enforced.Denied()), fmt.Sprintf("%.1f %%", 100*told.Denied()),
			signed(100 * (told.Denied() - enforced.Denied())),
		})
	}
	return markdown(rows), nil
}

// signed writes a number with its sign; what rounds to zero has none.
func signed(x float64) string {
	text := fmt.Sprintf("%+.1f", x)
	if text == "+0.0" || text == "-0.0" {
		return "0.0"
	}
	return strings.Replace(text, "-", "−", 1)
}
