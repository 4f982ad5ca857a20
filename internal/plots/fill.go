package main

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	benchmarks "github.com/seawall-go/seawall/internal/bench"
	"github.com/seawall-go/seawall/internal/overload"
)

// A table stands between these lines, with blank ones around it.
var tableMark = regexp.MustCompile(`(?ms)^<!-- table: ([a-z-]+) -->\n.*?^<!-- end -->$`)

// fill replaces every table of a text.
func fill(text string, tables map[string]string) (string, error) {
	var unknown error
	text = tableMark.ReplaceAllStringFunc(text, func(old string) string {
		name := tableMark.FindStringSubmatch(old)[1]
		t, ok := tables[name]
		if !ok {
			unknown = fmt.Errorf("there is no table %q", name)
		}
		return fmt.Sprintf("<!-- table: %s -->\n\n%s\n<!-- end -->", name, t)
	})
	return text, unknown
}

// tables writes all tables, by their names.
func tables(shed *shedding) (map[string]string, error) {
	out := map[string]string{}
	for name, steps := range examples() {
		rows, err := play(steps)
		if err != nil {
			return nil, fmt.Errorf("table %q: %w", name, err)
		}
		out[name] = rows
	}
	for name, write := range map[string]func() (string, error){
		"traffic": trafficTable, "calendars": calendarTable, "several": severalTable,
	} {
		rows, err := write()
		if err != nil {
			return nil, fmt.Errorf("table %q: %w", name, err)
		}
		out[name] = rows
	}
	rec, err := overload.Measured()
	if err != nil {
		return nil, err
	}
	maps.Copy(out, overloadTables(rec))
	benched, err := benchmarks.Measured()
	if err != nil {
		return nil, err
	}
	maps.Copy(out, benchTables(benched))
	more, err := sheddingTables(shed)
	maps.Copy(out, more)
	return out, err
}

// markdown writes a table, whose first row is its head.
func markdown(rows [][]string) string {
	var b strings.Builder
	for i, r := range rows {
		b.WriteString("| " + strings.Join(r, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(r)) + "\n")
		}
	}
	return b.String()
}
