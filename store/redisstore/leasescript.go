package redisstore

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

// The sections that are run for many leases.
const releasing, renewing = "releases", "renew"

// mostTogether is how many leases of one key are given back by one command at most: Lua has room for some thousands.
const mostTogether = 1000

// batch returns the script that runs a section of a rule for many leases. Rules whose sections are the same share it.
//
// For renew, lease i has KEYS[i], and $1 and $2 are ARGV[2i-1] and ARGV[2i]. Behind them there is a deadline: one that runs
// when nobody waits for it any more would bring back what was released since. The reply is how many of the leases were found
// lost.
//
// For releases, KEYS[i] has several leases: each key's arguments are how many, and which. They are right at any time.
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
	if name == releasing {
		v.arg = func(int) string { return "unpack(ARGV, at + 1, at + ARGV[at])" }
		text = "local at = 1\nfor i = 1, #KEYS do\n" + v.fill(text) + "at = at + 1 + ARGV[at]\nend\nreturn 0\n"
	} else {
		text = "local lost = 0\n" + late("ARGV[2 * #KEYS + 1]") + "for i = 1, #KEYS do\n" + v.fill(text) + "end\nreturn lost\n"
	}
	text = s.begun(text)
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
