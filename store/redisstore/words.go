package redisstore

import (
	"regexp"
	"strings"
)

// words are what the sections of a script may say of Redis' clock, and what that takes. A script computes those that it
// uses; a later one may use an earlier one.
//
// Lua writes a number that is handed to Redis with 17 digits and a point if need be, which takes longer than most commands
// do. So what many sections need as text is made here, once a call.
var words = [...]struct {
	used *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`\b(hi|lo)\b`), "local hi = (sec - sec % 1e6) / 1e6\nlocal lo = (sec - hi * 1e6) * 1e9 + usec * 1e3\n"},
	{regexp.MustCompile(`\b(ms|live)\b`), "local ms = sec * 1e3 + (usec - usec % 1e3) / 1e3\n"},
	{regexp.MustCompile(`\blive\b`), "local live = string.format('(%d', ms)\n"},
	{regexp.MustCompile(`\b(ttl|expires)\b`), "local ttl, expires\n"},
	{regexp.MustCompile(`\btold\b`), "local told, tells\n"},
	{regexp.MustCompile(`\bcounted\b`), "local counted, counts\n"},
	{regexp.MustCompile(`\btick\b`), "local tick = usec % 64 == 0\n"},
}

// begun returns a script with the prelude, and the words that it uses, ahead of it.
func (s *shapes) begun(script string) string {
	var w strings.Builder
	w.WriteString(s.prelude)
	for _, word := range words {
		name, _, _ := strings.Cut(word.text, " =")
		if word.used.MatchString(script) && !strings.Contains(s.prelude, name) { // those of tests have some of their own
			w.WriteString(word.text)
		}
	}
	w.WriteString(script)
	return w.String()
}
