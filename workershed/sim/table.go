package sim

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// columns are what Table writes of a result.
var columns = [...]struct {
	head string
	of   func(r *Result) string
}{
	{"scenario", func(r *Result) string { return r.Scenario }},
	{"shedder", func(r *Result) string { return r.Subject }},
	{"critical in time", func(r *Result) string { return fmt.Sprintf("%.1f %%", 100*r.Goodput()) }},
	{"their p99", func(r *Result) string { return short(r.P99) }},
	{"reversals", func(r *Result) string { return fmt.Sprint(r.Reversals) }},
	{"queue drained after", drained},
	{"queued in all", func(r *Result) string { return short(r.Queued) }},
	{"all back after", func(r *Result) string { return short(r.Back) }},
	{"longest out", func(r *Result) string { return short(r.LongestOut) }},
	{"refused", func(r *Result) string { return fmt.Sprintf("%.1f %%", 100*r.Denied()) }},
}

// Table writes results as a table in Markdown that is as readable as it is.
func Table(w io.Writer, results []*Result) error {
	rows := make([][]string, 1, len(results)+1)
	widths := make([]int, len(columns))
	cell := func(row int, column int, text string) {
		rows[row] = append(rows[row], text)
		widths[column] = max(widths[column], utf8.RuneCountInString(text))
	}
	for i, c := range columns {
		cell(0, i, c.head)
	}
	for _, r := range results {
		rows = append(rows, nil)
		for i, c := range columns {
			cell(len(rows)-1, i, c.of(r))
		}
	}
	var b strings.Builder
	for i, row := range rows {
		for j, text := range row {
			fmt.Fprintf(&b, "| %s%s ", text, strings.Repeat(" ", widths[j]-utf8.RuneCountInString(text)))
		}
		b.WriteString("|\n")
		if i == 0 {
			for _, width := range widths {
				fmt.Fprintf(&b, "|%s", strings.Repeat("-", width+2))
			}
			b.WriteString("|\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// short is a duration without what nobody wants to know.
func short(d time.Duration) string {
	if d >= 10*time.Second {
		d = d.Round(time.Second)
	}
	return d.Round(10 * time.Millisecond).String()
}

func drained(r *Result) string {
	if r.Drained < 0 {
		return "never"
	}
	return short(r.Drained)
}
