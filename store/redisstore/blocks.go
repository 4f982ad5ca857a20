package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seawall-go/seawall"
)

// blocks are the parts of a script that decide about one request: check blocks, mend blocks and decision, commit
// blocks, and the expressions that it answers with.
type blocks struct {
	head, middle, tail strings.Builder
	observes           []string
	usesCapacity       bool
	misses             bool
	spilled            bool
	gathers            bool // what is committed is written behind the last request, or by add()
	advisory           bool // there are advisory checks; if not, all that is asked for is enforced
}

// places says where a script finds the keys and the arguments of a request, counted from 1, and the capacity.
type places struct {
	key, arg func(n int) string
	capacity string
	spilled  bool // local variables are fields of a table
	several  bool // requests, so that what they commit may be gathered
	joint    int  // keys that they share, and come first
	shared   int  // arguments that they do
}

// keyInRow and argInRow are where a script for several requests finds what each has of its own.
func keyInRow(n int) string { return fmt.Sprintf("KEYS[first_key + %d]", n) }
func argInRow(n int) string { return fmt.Sprintf("ARGV[first_arg + %d]", n) }

// keyInAlike and argInAlike are the same if they share some, which come first.
func (sh *shape) keyInAlike(n int) string { return inAlike(sh.fleet, n, "KEYS[%d]", keyInRow) }
func (sh *shape) argInAlike(n int) string { return inAlike(sh.same, n, "ARGV[%d]", argInRow) }

func inAlike(same []bool, n int, shared string, own func(n int) string) string {
	before := 0
	for _, s := range same[:min(n, len(same))] {
		if s {
			before++
		}
	}
	if n <= len(same) && same[n-1] {
		return fmt.Sprintf(shared, before)
	}
	return own(n - before)
}

// blocks writes the blocks of the checks, which begin at the first place of each.
func (p *places) blocks(checks []seawall.Check, args []int) *blocks {
	b := &blocks{spilled: p.spilled, advisory: slices.ContainsFunc(checks, advises)}
	at := 0 // arguments so far
	for i := range checks {
		c := &checks[i]
		parts := sections(c.Rule.Script())
		if gather := parts["gather"]; gather != "" && p.several && c.Op == seawall.Spend {
			parts["commit"] = gather
			b.gathers = true
		}
		first := at
		v := vocabulary{
			key:      p.key(i + 1),
			capacity: p.capacity,
			suffix:   strconv.Itoa(i + 1),
			spilled:  p.spilled,
			arg:      func(k int) string { return p.arg(first + k) },
		}
		switch c.Op {
		case seawall.Refund:
			b.tail.WriteString(v.fill(parts["refund"]))
		case seawall.Reset:
			if p.several {
				b.tail.WriteString("add()\n")
			}
			b.tail.WriteString(v.fill("redis.call('DEL', $key)\ncounted = nil\n"))
		default:
			for expression := range strings.SplitSeq(strings.TrimSpace(parts["observes"]), ",") {
				b.observes = append(b.observes, strings.TrimSpace(v.fill(expression)))
			}
			b.misses = b.misses || strings.Contains(parts["check"], "missed")
			b.head.WriteString(v.fill(parts["check"]))
			v.decide(b, parts, c, 4<<i)
		}
		b.usesCapacity = b.usesCapacity || v.usedCapacity
		at += args[i]
	}
	if b.advisory {
		b.tail.WriteString("if enforced then mask = mask + 1 end\nif all then mask = mask + 2 end\n")
	} else {
		b.tail.WriteString("if enforced then mask = mask + 3 end\n")
	}
	return b
}

// advises tells whether a check may keep advisory ones, and only them, from committing.
func advises(c seawall.Check) bool { return c.Advisory && c.Op == seawall.Spend }

// needs returns the sections that a script must have for an operation.
func needs(op seawall.Op) []string {
	switch op {
	case seawall.Spend:
		return []string{"observes", "check", "commit"}
	case seawall.Peek:
		return []string{"observes", "check"}
	case seawall.Refund:
		return []string{"refund"}
	}
	return nil
}

// decide writes what a check's answer means, and what it commits. bit is its own in the mask.
func (v *vocabulary) decide(b *blocks, parts map[string]string, c *seawall.Check, bit int) {
	ok := v.local("ok")
	if mend := parts["mend"]; mend != "" {
		fmt.Fprintf(&b.middle, "if not %s then\n%send\n", ok, v.fill(mend))
	}
	commits := "enforced"
	if c.Advisory {
		commits = "all"
	}
	switch {
	case c.Op == seawall.Peek:
		fmt.Fprintf(&b.middle, "if %s then mask = mask + %d end\n", ok, bit)
		return
	case c.CountOnly:
		fmt.Fprintf(&b.middle, "mask = mask + %d\n", bit)
	case c.Advisory:
		fmt.Fprintf(&b.middle, "if %s then mask = mask + %d else all = false end\n", ok, bit)
	case b.advisory:
		fmt.Fprintf(&b.middle, "if %s then mask = mask + %d else all, enforced = false, false end\n", ok, bit)
	default:
		fmt.Fprintf(&b.middle, "if %s then mask = mask + %d else enforced = false end\n", ok, bit)
	}
	fmt.Fprintf(&b.tail, "if %s then\n%send\n", commits, v.fill(parts["commit"]))
}
