package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/seawall-go/seawall"
)

const (
	// maxRequests is how many requests one script call is for at most, and maxChecks how many checks they have: one
	// script keeps Redis from everything else for about a millisecond at worst.
	maxRequests, maxChecks = 128, 384
	// maxLocals is how many local variables the sections of a script may have in all, of the 200 that Lua allows.
	// Beyond it they are fields of a table, and each request has a call of its own.
	maxLocals = 150
	// mostChecks is how many checks a request has at most: each has a bit of a mask, which is a double in Lua.
	mostChecks = 50
)

// compose writes the scripts of the checks. Check i has KEYS[i] and args[i] arguments; behind them all a request has its
// deadline. In a call for many, the requests follow each other. The capacity is the last key of any.
func (s *shapes) compose(checks []seawall.Check, args []int) (*shape, error) {
	if len(checks) > mostChecks {
		return nil, fmt.Errorf("redisstore: a request has %d checks; want at most %d, or have fewer policies be about it", len(checks), mostChecks)
	}
	sh := &shape{keys: len(checks), columns: []int{1}}
	locals := 0
	for i := range checks {
		c := &checks[i]
		parts := sections(c.Rule.Script())
		for _, need := range needs(c.Op) {
			if parts[need] == "" {
				return nil, fmt.Errorf("redisstore: rule %q: its script has no section --@%s", c.Rule.Kind(), need)
			}
		}
		columns := 0
		if c.Op == seawall.Spend || c.Op == seawall.Peek {
			columns = 1 + strings.Count(parts["observes"], ",")
		}
		for _, part := range parts {
			locals += countLocals(part)
		}
		sh.columns = append(sh.columns, sh.columns[i]+columns)
		for k := 1; k <= args[i]; k++ {
			same := columns > 0 && slices.Contains(strings.Fields(parts["same"]), "$"+strconv.Itoa(k))
			sh.same = append(sh.same, same)
			if same {
				sh.shared++
			}
		}
		sh.timed = sh.timed || c.Timed
		sh.fleet = append(sh.fleet, c.Key == fleetKey)
		if c.Key == fleetKey {
			sh.joint++
		}
	}
	if sh.joint == len(checks) {
		sh.fleet, sh.joint = nil, 0
	}
	sh.same = append(sh.same, false) // the deadline
	sh.args = len(sh.same)
	one := places{
		key:      func(n int) string { return fmt.Sprintf("KEYS[%d]", n) },
		arg:      func(n int) string { return fmt.Sprintf("ARGV[%d]", n) },
		capacity: fmt.Sprintf("redis.pcall('GET', KEYS[%d])", len(checks)+1),
		spilled:  locals > maxLocals,
	}
	b := one.blocks(checks, args)
	sh.capacity, sh.misses = b.usesCapacity, b.misses
	sh.one = newScript(s.begun(b.one(sh)))
	sh.most = min(maxRequests, maxChecks/len(checks))
	if one.spilled || sh.most < 2 {
		sh.most = 1
		return sh, nil
	}
	rules := make([]seawall.Check, len(checks)) // what the scripts depend on, and nothing of a caller
	for i := range checks {
		rules[i] = seawall.Check{Rule: checks[i].Rule, Op: checks[i].Op, Advisory: checks[i].Advisory, CountOnly: checks[i].CountOnly}
	}
	args = slices.Clone(args)
	many := places{
		key: keyInRow, arg: argInRow, several: true, capacity: "redis.pcall('GET', KEYS[#KEYS])",
	}
	sh.many = sync.OnceValue(func() script { return s.manyOf(sh, many, rules, args) })
	if sh.shared > 0 {
		alike := many
		alike.key, alike.arg = sh.keyInAlike, sh.argInAlike
		alike.joint, alike.shared = sh.joint, sh.shared
		sh.alike = sync.OnceValue(func() script { return s.manyOf(sh, alike, rules, args) })
	}
	return sh, nil
}

// manyOf writes the script for several requests. It is written when it is needed: most shapes of a process that has many of
// them are seldom met twice at once.
func (s *shapes) manyOf(sh *shape, p places, rules []seawall.Check, args []int) script {
	return newScript(s.begun(p.blocks(rules, args).many(sh, &p)))
}

// countLocals returns at least how many local variables a section has at once.
func countLocals(section string) (n int) {
	for line := range strings.Lines(section) {
		for _, declared := range strings.Split(line, "local ")[1:] {
			names, _, _ := strings.Cut(declared, "=")
			n += 1 + strings.Count(names, ",")
		}
		if strings.Contains(line, "for ") {
			n += 5 // three of its own, and two names
		}
	}
	return n
}

// begin is what a request begins with.
const begin = "local all, enforced, mask, missed = true, true, 0, false\n"

// one is the script for one request, behind the prelude. Its reply is the mask and what is observed; or what kept it
// from deciding, and the time.
func (b *blocks) one(sh *shape) string {
	var w strings.Builder
	w.WriteString(late(fmt.Sprintf("ARGV[%d]", sh.args)))
	w.WriteString(begin)
	if b.spilled {
		w.WriteString("local spill = {}\n")
	}
	w.WriteString(b.head.String())
	if b.misses {
		w.WriteString("if missed then return {-1, sec, usec} end\n")
	}
	w.WriteString(b.middle.String() + b.tail.String() + "return {mask")
	for _, expression := range b.observes {
		w.WriteString(", " + expression)
	}
	if sh.timed {
		w.WriteString(", sec, usec")
	}
	w.WriteString("}\n")
	return w.String()
}

// many is the script for several requests, behind the prelude: one after the other is decided as if it were alone, in the
// order in which they are given. The reply is as many numbers for each as for one, zeros behind what kept it from deciding,
// and the time.
func (b *blocks) many(sh *shape, p *places) string {
	var w strings.Builder
	keys := "#KEYS"
	if sh.capacity {
		keys = "#KEYS - 1"
	}
	w.WriteString("local redis, string, math, tonumber, KEYS, ARGV = redis, string, math, tonumber, KEYS, ARGV\n")
	fmt.Fprintf(&w, "local micros, replies, replied, first_arg = sec * 1e6 + usec, {}, 0, %d\n", p.shared)
	own := sh.keys - p.joint
	fmt.Fprintf(&w, "for first_key = %d, %s - %d, %d do\n", p.joint, keys, own, own)
	w.WriteString(begin)
	fmt.Fprintf(&w, "if %s - micros < 0 then\nmask = -2\n", p.arg(sh.args))
	sh.blank(&w)
	w.WriteString("else\n" + b.head.String())
	if b.misses {
		w.WriteString("if missed then\nmask = -1\n")
		sh.blank(&w)
		w.WriteString("else\n")
	}
	w.WriteString(b.middle.String() + b.tail.String())
	for i, expression := range b.observes {
		fmt.Fprintf(&w, "replies[replied + %d] = %s\n", i+2, expression)
	}
	if b.misses {
		w.WriteString("end\n")
	}
	w.WriteString("end\nreplies[replied + 1] = mask\n")
	fmt.Fprintf(&w, "replied, first_arg = replied + %d, first_arg + %d\nend\n", sh.width(), sh.args-p.shared)
	if b.gathers {
		w.WriteString("add()\n")
	}
	w.WriteString("replies[replied + 1], replies[replied + 2] = sec, usec\nreturn replies\n")
	return w.String()
}

// blank writes what stands where nothing was observed.
func (sh *shape) blank(w *strings.Builder) {
	for i := 2; i <= sh.width(); i++ {
		fmt.Fprintf(w, "replies[replied + %d] = 0\n", i)
	}
}

// late is the line that has a script change nothing, and tell the time, once Redis' clock is past a deadline in
// microseconds.
func late(deadline string) string {
	return "if " + deadline + " - sec * 1e6 - usec < 0 then return {-2, sec, usec} end\n"
}
