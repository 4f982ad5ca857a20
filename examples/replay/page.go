package main

import (
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
		"int64": func(n int) int64 { return int64(n) },
	}).Parse(pageText)
	if err != nil {
		return err
	}
	file, err := os.Create(name) //nolint:gosec // the user says where
	if err != nil {
		return fmt.Errorf("flag -html: %w", err)
	}
	if err := t.Execute(file, p); err != nil {
		_ = file.Close() // the first error says more
		return err
	}
	return file.Close()
}

// refusedBy returns the share of the callers, in percent, whom a burst refuses something; bursts are what each needs, in order.
func refusedBy(bursts []int64, burst int64) float64 {
	enough, _ := slices.BinarySearch(bursts, burst+1)
	return 100 * float64(len(bursts)-enough) / float64(len(bursts))
}
