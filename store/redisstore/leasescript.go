package redisstore

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

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
	text = s.begun(begin + "for i = 1, #KEYS do\n" + v.fill(text) + "end\nreturn lost\n")
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
