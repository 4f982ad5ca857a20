package redisstore

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

//go:embed prelude.lua
var prelude string

// shape is the script of one sequence of rule kinds.
type shape struct {
	text     string
	script   *redis.Script // of text
	capacity bool          // a last key is the fleet's capacity
	misses   bool          // it may turn down the time its arguments were made for
	timed    bool          // its reply ends with the time
	columns  []int         // where each check's observation begins in the reply, and behind the last one its width
}

// shapes composes scripts and keeps them. There are as many as there are sequences of rules that requests meet: few,
// unless many policies are each about other requests. No text of a caller is in them.
type shapes struct {
	prelude string
	mu      sync.RWMutex
	known   map[string]*shape
	batches map[section]*redis.Script
	texts   map[string]*redis.Script // the same by their text
}

// ops tells scripts apart by what a check does.
var ops = [...]byte{seawall.Spend: ' ', seawall.Peek: '?', seawall.Refund: '-', seawall.Reset: '0'}

// section is a section of a kind of rule.
type section struct{ kind, name string }

// of returns the shape of the checks. args says how many arguments each check has.
func (s *shapes) of(checks []seawall.Check, args []int) (*shape, error) {
	var buf [64]byte
	kinds := buf[:0]
	for i := range checks {
		kinds = append(kinds, checks[i].Rule.Kind()...)
		kinds = append(kinds, ops[checks[i].Op])
		if checks[i].Timed {
			kinds = append(kinds, '@')
		}
	}
	s.mu.RLock()
	sh := s.known[string(kinds)]
	s.mu.RUnlock()
	if sh != nil {
		return sh, nil
	}
	s.mu.Lock() // while one composes, the others of the same shape need not
	defer s.mu.Unlock()
	if sh = s.known[string(kinds)]; sh != nil {
		return sh, nil
	}
	sh, err := s.compose(checks, args)
	if err != nil {
		return nil, err
	}
	if s.known == nil {
		s.known = map[string]*shape{}
	}
	s.known[string(kinds)] = sh
	return sh, nil
}

// compose writes the script of the checks: prelude, check blocks, mend blocks and decision, commit blocks, reply.
// Check i has KEYS[i] and, behind its mode, args[i] arguments. The modes are those of modeOf.
func (s *shapes) compose(checks []seawall.Check, args []int) (*shape, error) {
	var head, middle, tail, reply strings.Builder
	sh := &shape{columns: []int{1}}
	at := 0 // arguments so far
	for i := range checks {
		c := &checks[i]
		parts := sections(c.Rule.Script())
		n := strconv.Itoa(i + 1)
		at++
		mode := fmt.Sprintf("ARGV[%d]", at)
		v := vocabulary{
			key:      "KEYS[" + n + "]",
			capacity: fmt.Sprintf("redis.pcall('GET', KEYS[%d])", len(checks)+1),
			suffix:   n,
			arg:      func(k int) string { return fmt.Sprintf("ARGV[%d]", at+k) },
		}
		for _, need := range needs(c.Op) {
			if parts[need] == "" {
				return nil, fmt.Errorf("redisstore: rule %q: its script has no section --@%s", c.Rule.Kind(), need)
			}
		}
		columns := 0
		switch c.Op {
		case seawall.Refund:
			tail.WriteString(v.fill(parts["refund"]))
		case seawall.Reset:
			tail.WriteString(v.fill("redis.call('DEL', $key)\n"))
		default:
			columns = 1 + strings.Count(parts["observes"], ",")
			reply.WriteString(", " + strings.TrimSpace(v.fill(parts["observes"])))
			sh.misses = sh.misses || strings.Contains(parts["check"], "missed")
			head.WriteString(v.fill(parts["check"]))
			v.decide(&middle, &tail, parts, c.Op, mode, 4<<i)
		}
		sh.columns = append(sh.columns, sh.columns[i]+columns)
		sh.timed = sh.timed || c.Timed
		sh.capacity = sh.capacity || v.usedCapacity
		at += args[i]
	}
	begin := late(fmt.Sprintf("ARGV[%d]", at+1)) + "local all, enforced, mask = true, true, 0\n"
	if sh.misses {
		begin += "local missed = false\n"
		head.WriteString("if missed then return {-1, sec, usec} end\n")
	}
	if sh.timed {
		reply.WriteString(", sec, usec")
	}
	tail.WriteString("if enforced then mask = mask + 1 end\nif all then mask = mask + 2 end\n")
	sh.text = s.prelude + begin + head.String() + middle.String() + tail.String() + "return {mask" + reply.String() + "}\n"
	sh.script = redis.NewScript(sh.text)
	return sh, nil
}

// late is the line that has a script change nothing, and tell the time, once Redis' clock is past a deadline in
// microseconds.
func late(deadline string) string {
	return "if sec * 1e6 + usec > tonumber(" + deadline + ") then return {-2, sec, usec} end\n"
}

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
func (v *vocabulary) decide(middle, tail *strings.Builder, parts map[string]string, op seawall.Op, mode string, bit int) {
	ok := "ok" + v.suffix
	if mend := parts["mend"]; mend != "" {
		fmt.Fprintf(middle, "if not %s then\n%send\n", ok, v.fill(mend))
	}
	if op == seawall.Peek {
		fmt.Fprintf(middle, "if %s then mask = mask + %d end\n", ok, bit)
		return
	}
	fmt.Fprintf(middle, "if %s >= '2' then %s = true end\n", mode, ok)
	fmt.Fprintf(middle, "if %s then mask = mask + %d else all = false; if %s == '0' then enforced = false end end\n", ok, bit, mode)
	fmt.Fprintf(tail, "if all or enforced and (%s == '0' or %s == '2') then\n%send\n", mode, mode, v.fill(parts["commit"]))
}

// accepts returns an error unless the reply is one that the script gives: all its columns, or a time.
func (sh *shape) accepts(reply []int64) error {
	want := sh.columns[len(sh.columns)-1]
	if sh.timed {
		want += 2
	}
	missed := len(reply) > 0 && (reply[0] == -2 || reply[0] == -1 && sh.misses)
	if missed {
		want = 3
	}
	if len(reply) != want || reply[0] < 0 && !missed {
		return &callError{reason: "script", err: fmt.Errorf("the reply is %v; want %d numbers, a mask first", reply, want)}
	}
	return nil
}

// modeOf tells a script how a check counts.
func modeOf(c *seawall.Check) int {
	mode := 0
	if c.Advisory {
		mode++
	}
	if c.CountOnly {
		mode += 2
	}
	return mode
}

// batch returns the script that runs a section of a rule for many leases. Rules whose sections are the same
// share it. For lease i, counting from 0, $key is KEYS[i+1], and $1 and $2 are ARGV[2i+1] and ARGV[2i+2]. Behind them
// a renewal has its deadline: one that runs when nobody waits for it any more would bring back what was released
// since. A release is right at any time. The reply is how many of the leases a renewal has found lost.
func (s *shapes) batch(rule seawall.Holder, name string) (*redis.Script, error) {
	of := section{rule.Kind(), name}
	s.mu.RLock()
	b := s.batches[of]
	s.mu.RUnlock()
	if b != nil {
		return b, nil
	}
	text := sections(rule.Script())[name]
	if text == "" {
		return nil, fmt.Errorf("redisstore: rule %q: its script has no section --@%s", rule.Kind(), name)
	}
	v := vocabulary{
		key: "KEYS[i]",
		arg: func(k int) string { return fmt.Sprintf("ARGV[2 * i - %d]", 2-k) },
	}
	begin := "local lost = 0\n"
	if name == "renew" {
		begin += late("ARGV[2 * #KEYS + 1]")
	}
	text = s.prelude + begin + "for i = 1, #KEYS do\n" + v.fill(text) + "end\nreturn lost\n"
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batches == nil {
		s.batches, s.texts = map[section]*redis.Script{}, map[string]*redis.Script{}
	}
	if s.texts[text] == nil {
		s.texts[text] = redis.NewScript(text)
	}
	s.batches[of] = s.texts[text]
	return s.texts[text], nil
}
