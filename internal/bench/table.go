package bench

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Table is the table of all lines: work, ours, best peer, limit, ratio, target, ok. Its first row is the head. What is compared
// with the target has its quartiles.
func Table(r Record) [][]string {
	rows := [][]string{{"work", "ours", "best peer", "limit", "ratio", "target", "ok"}}
	for _, t := range Targets() {
		l, ok := r.Line(t.Name)
		if !ok {
			rows = append(rows, []string{t.Work, "not measured", "", "", "", t.words(), t.verdict(l)})
			continue
		}
		work := t.Work
		if l.Note != "" {
			work += " (" + l.Note + ")"
		}
		ratio, own := "", t.figure(l.Ours)
		if t.To != "" && l.Ratio != nil {
			ratio = fmt.Sprintf("%s%s of %s", Number(l.Ratio.Median), l.Ratio.Quartiles(), t.To)
		} else {
			own += l.Ours.Quartiles()
		}
		rows = append(rows, []string{
			work, own, t.other(l.Peer), t.other(l.Limit), ratio, t.words(), t.verdict(l),
		})
	}
	return rows
}

// Quartiles writes them in brackets, and nothing if they do not differ.
func (s Spread) Quartiles() string {
	low, high := Number(s.Low), Number(s.High)
	if low == high {
		return ""
	}
	return " (" + low + "–" + high + ")"
}

// Sum is what the table says in the end.
func Sum(r Record) string {
	reached, all := Count(r)
	return fmt.Sprintf("%d of %d lines reach their target", reached, all)
}

// Text writes a table for a terminal.
func Text(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// figure writes a figure with its unit.
func (t Target) figure(s Spread) string {
	unit := t.Unit
	if unit == "us" {
		unit = "µs"
	}
	switch {
	case unit == "":
		return Number(s.Median)
	case strings.HasPrefix(unit, "k/s"), strings.HasPrefix(unit, "/s"):
		return Number(s.Median) + unit
	}
	return Number(s.Median) + " " + unit
}

func (t Target) other(o *Other) string {
	if o == nil {
		return ""
	}
	return t.figure(o.Figure) + ", " + o.Name
}

func (t Target) words() string {
	sign := ""
	switch t.Want {
	case AtMost:
		sign = "≤ "
	case AtLeast:
		sign = "≥ "
	default:
		return ""
	}
	if t.To != "" {
		return sign + fmt.Sprintf("%v×", t.Value)
	}
	return sign + strings.TrimSpace(t.figure(Spread{Median: t.Value}))
}

func (t Target) verdict(l Line) string {
	switch {
	case t.Want == None:
		return ""
	case t.Reached(l):
		return "yes"
	}
	return "no"
}

// Number writes a number with three digits, or as many as it has before the point.
func Number(x float64) string {
	switch a := math.Abs(x); {
	case a >= 100 || x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	case a >= 1:
		return fmt.Sprintf("%.2f", x)
	case a >= 0.01:
		return fmt.Sprintf("%.3f", x)
	}
	return fmt.Sprintf("%.2g", x)
}
