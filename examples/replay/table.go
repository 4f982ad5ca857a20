package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/seawall-go/seawall/concurrency"
)

// table writes the result as text for people.
func (r *result) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d requests of %d callers", r.Requests, r.Callers)
	if r.Requests > 0 {
		fmt.Fprintf(t, ", %s to %s UTC (%v)", clock(r.From), clock(r.To), r.To.Sub(r.From).Round(time.Second))
	}
	fmt.Fprintf(t, ", order: %s\n", r.Order)
	if r.Stopped {
		fmt.Fprintln(t, "STOPPED: this is what was read until then")
	}
	r.badLines(t)
	if r.Identified != nil && r.Requests > 0 {
		fmt.Fprintf(t, "%d of %d requests have the user or field of -caller; the others count for their address\n", *r.Identified, r.Requests)
	}
	if r.Late > 0 {
		fmt.Fprintf(t, "%d requests came later than the window in which they are put in order (-reorder)%s\n", r.Late, r.whyLate())
	}
	if len(r.Policies) > 0 {
		fmt.Fprintln(t, "\nPOLICY\tRULE\tREQUESTS\tREFUSED\tSHARE\tCALLERS\tREFUSED\tSHARE")
	}
	for i := range r.Policies {
		p := &r.Policies[i]
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%d\t%d\t%s\n", p.Policy, p.Rule, p.Requests, p.Refused, percent(p.Refused, p.Requests),
			p.Callers, p.CallersRefused, percent(int64(p.CallersRefused), int64(p.Callers)))
	}
	if len(r.Policies) > 1 {
		fmt.Fprintf(t, "all\t\t%d\t%d\t%s\n", r.Requests, r.Refused, percent(r.Refused, r.Requests))
	}
	for i := range r.Policies {
		if p := &r.Policies[i]; p.Requests == 0 && r.Requests > 0 {
			fmt.Fprintf(t, "\n%s: %s\n", p.Policy, p.idle())
		}
		r.Policies[i].table(t)
	}
	if r.InFlight != nil {
		fmt.Fprintf(t, "\nin flight at the same time: %d at most, of the %d requests whose duration is known\n", r.InFlight.Peak, r.InFlight.Known)
		if len(r.InFlight.Top) > 0 {
			fmt.Fprintln(t, "CALLER\tAT MOST")
		}
		for _, c := range r.InFlight.Top {
			fmt.Fprintf(t, "%s\t%d\n", plain(c.Caller), c.Peak)
		}
	}
	return t.Flush()
}

func (r *result) badLines(t io.Writer) {
	for _, l := range r.Logs {
		if l.Bad > 0 {
			fmt.Fprintf(t, "%s: %d of %d lines are no requests (%s)\n", plain(l.Name), l.Bad, l.Lines, cmp.Or(l.Format, "no format fits"))
		}
		for _, b := range l.First {
			fmt.Fprintf(t, "  line %d: %s: %s\n", b.Number, b.Why, b.Text)
		}
	}
}

// whyLate guesses why so many requests are late; "" if few are.
func (r *result) whyLate() string {
	if r.Late <= r.Requests/10 {
		return ""
	}
	return ": is a time stamp far ahead of the others? It makes all behind it late"
}

// table writes where and whom a policy would have refused.
func (p *policyResult) table(t io.Writer) {
	if e := p.Enough; e != nil {
		fmt.Fprintf(t, "\n%s: a burst of %d would refuse %s of its callers at most; %d would refuse nobody%s\n",
			p.Policy, e.Burst, shareText(e.Share), e.All, e.but())
	}
	if p.Refused == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s, first %s, last %s\n", p.Policy, clock(p.First), clock(p.Last))
	fmt.Fprintln(t, "CALLER\tREFUSED\tOF\tSHARE\tENOUGH")
	for _, c := range p.Top {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\n", plain(c.Caller), c.Refused, c.Requests, percent(c.Refused, c.Requests), known(c.Enough))
	}
	fmt.Fprintln(t, "\nROUTE\tREFUSED\tOF\tSHARE")
	for _, c := range p.Routes {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", plain(c.Route), c.Refused, c.Requests, percent(c.Refused, c.Requests))
	}
}

// but says whom the figures leave out; "" if that is nobody.
func (e *enough) but() string {
	if e.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf(", leaving out %d callers of whom no burst is known, such as blocked ones", e.LeftOut)
}

// idle says why a policy has decided about nothing.
func (p *policyResult) idle() string {
	if p.Layer == concurrency.Name {
		return "the logs do not say how long requests took, so it decided about none"
	}
	return "it is about none of these requests"
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

func known(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func percent(n, of int64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(n)/float64(of))
}

func shareText(share float64) string { return strconv.FormatFloat(100*share, 'g', 6, 64) + "%" }

// maxText is how long a text from a log is shown at most.
const maxText = 60

// plain is the text as it may be printed: logs hold what callers have sent.
func plain(text string) string {
	short := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, text)
	if runes := []rune(short); len(runes) > maxText {
		return string(runes[:maxText-3]) + "..."
	}
	return short
}
