package report

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Top returns the report with at most n callers of each policy.
func (r Report) Top(n int) Report {
	policies := make([]Policy, len(r.Policies))
	copy(policies, r.Policies)
	for i := range policies {
		policies[i].cut(max(0, n))
	}
	r.Policies = policies
	return r
}

// WriteTable writes the report as text for people.
func (r Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "refusals from %s to %s UTC (%v), %s\n\n",
		clock(r.Since), clock(r.Until), r.Until.Sub(r.Since).Round(time.Second), r.covers())
	fmt.Fprintln(t, "LAYER\tPOLICY\tMODE\tREQUESTS\tREFUSED\tWOULD REFUSE\tSHARE\tPEAK/S")
	for i := range r.Policies {
		p := &r.Policies[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%d\n", plain(p.Layer), plain(p.Name), p.mode(),
			p.Requests, p.Refused, p.WouldRefuse, share(p.refusals(), p.Requests), p.PeakPerSecond)
	}
	for i := range r.Policies {
		p := &r.Policies[i]
		if p.Unavailable > 0 {
			fmt.Fprintf(t, "\n%s:%s refused, or would have, %d more because the store could not be asked, and it fails closed\n",
				plain(p.Layer), plain(p.Name), p.Unavailable)
		}
		if p.refusals() > 0 {
			p.write(t, len(r.Instances) <= 1 && r.Fleet <= 1)
		}
	}
	return t.Flush()
}

// mode is how the policy was asked.
func (p *Policy) mode() string {
	switch p.LogOnly {
	case 0:
		return "enforce"
	case p.Requests:
		return "log-only"
	}
	return "both"
}

// write writes where and whom a policy has refused.
// alone tells that one instance has seen all.
func (p *Policy) write(t *tabwriter.Writer, alone bool) {
	fmt.Fprintf(t, "\n%s:%s (%s), first %s, last %s\n", plain(p.Layer), plain(p.Name), plain(p.Rule), clock(p.First), clock(p.Last))
	if p.Alone > 0 {
		fmt.Fprintf(t, "  %d of them were decided without the store, by an instance's share of the limit\n", p.Alone)
	}
	fmt.Fprintln(t, "  ROUTE\tTIER\tREFUSED\tWOULD REFUSE")
	for _, r := range p.Routes {
		fmt.Fprintf(t, "  %s\t%s\t%d\t%d\n", cmp.Or(plain(r.Route), "(unmatched)"), plain(r.Tier), r.Refused, r.WouldRefuse)
	}
	var byChance, sustained int
	var header bool
	for i := range p.Callers {
		c := &p.Callers[i]
		if c.Error > c.Refused+c.WouldRefuse {
			byChance++
			continue
		}
		if !header {
			fmt.Fprintln(t, "\n  CALLER\tNAME\tREFUSED\tWOULD REFUSE\tOF THE LAST\tFIRST\tLAST\tMEAN/S\tPEAK/S\tLIMIT\tENOUGH")
			header = true
		}
		mark := ""
		if c.sustained() {
			sustained++
			mark = "*"
		}
		fmt.Fprintf(t, "  %s\t%s\t%d\t%d%s\t%d\t%s\t%s\t%s\t%d\t%s\t%s%s\n", plain(c.ID), cmp.Or(plain(c.Name), "-"), c.Refused,
			c.WouldRefuse, uncertain(c.Error), c.Requests, clock(c.First), clock(c.Last), rate(c.mean()), c.PeakPerSecond,
			number(c.Limit), enough(c, alone), mark)
	}
	if sustained > 0 {
		fmt.Fprintln(t, "  * asks faster than its rate in the long run: no burst is enough for good")
	}
	if byChance > 0 {
		fmt.Fprintf(t, "  callers: %d more of whom little is known, since many are refused a few times each\n", byChance)
	}
	if p.UnlistedAtMost > 0 {
		fmt.Fprintf(t, "  who is not listed: refused at most %d times each\n", p.UnlistedAtMost)
	}
}

// covers says of how many instances the report is.
func (r *Report) covers() string {
	switch {
	case r.Fleet > int64(len(r.Instances)):
		return fmt.Sprintf("%d of %d instances: merge the others' for the whole", len(r.Instances), r.Fleet)
	case len(r.Instances) == 1:
		return "1 instance"
	}
	return fmt.Sprintf("%d instances", len(r.Instances))
}

// uncertain says how many more there may be.
func uncertain(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (+%d at most)", n)
}

func enough(c *Caller, alone bool) string {
	switch {
	case c.Enough == 0 || alone:
		return number(c.Enough)
	case c.EnoughAtWorst > c.Enough:
		return fmt.Sprintf("about %d to %d", c.Enough, c.EnoughAtWorst)
	}
	return fmt.Sprintf("about %d", c.Enough)
}

func number(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func rate(perSecond float64) string {
	if perSecond == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g", perSecond)
}

func share(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// clock is a time as tables show it.
func clock(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05") }
