package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"slices"
)

//go:embed page.html
var pageText string

// page is what the template shows: the result, and its plots as SVG.
type page struct {
	*result
	Plots []plots
}

// plots are those of one policy.
type plots struct {
	*policyResult
	Time, Bursts template.HTML
}

// writePage writes the result as one file of HTML, which needs nothing else.
func (r *result) writePage(name string) (err error) {
	p := page{result: r}
	for i := range r.Policies {
		drawn := plots{policyResult: &r.Policies[i]}
		if drawn.Time, err = drawn.over.draw(); err != nil {
			return err
		}
		if drawn.Bursts, err = drawBursts(drawn.bursts); err != nil {
			return err
		}
		p.Plots = append(p.Plots, drawn)
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"clock": clock, "percent": percent, "plain": plain, "known": known, "share": shareText,
		"idle": func(p plots) string { return p.idle() }, "but": (*enough).but, "whyLate": r.whyLate,
		"int64": func(n int) int64 { return int64(n) },
	}).Parse(pageText)
	if err != nil {
		return err
	}
	var text bytes.Buffer // so that a page of before is left as it is if there is none
	if err := t.Execute(&text, p); err != nil {
		return err
	}
	if err := os.WriteFile(name, text.Bytes(), 0o666); err != nil { //nolint:gosec // the user says where, and umask for whom
		return fmt.Errorf("flag -html: %w; want a file that can be written", err)
	}
	return nil
}

// refusedBy returns the share of the callers, in percent, whom a burst refuses something; bursts are what each needs, in order.
func refusedBy(bursts []int64, burst int64) float64 {
	enough, _ := slices.BinarySearch(bursts, burst+1)
	return 100 * float64(len(bursts)-enough) / float64(len(bursts))
}
