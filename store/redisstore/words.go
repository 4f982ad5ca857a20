package redisstore

import (
	"slices"
	"strings"
)

// words are what the sections of a script may say of Redis' clock, and what that takes. A script computes those that it
// uses; a later one may use an earlier one.
//
// Lua writes a number that is handed to Redis with 17 digits and a point if need be, which takes longer than most commands
// do. So what many sections need as text is made here, once a call.
var words = [...]struct {
	used []string // by any of these
	text string
}{
	{[]string{"hi", "lo"}, "local hi = (sec - sec % 1e6) / 1e6\nlocal lo = (sec - hi * 1e6) * 1e9 + usec * 1e3\n"},
	{[]string{"ms", "live"}, "local ms = sec * 1e3 + (usec - usec % 1e3) / 1e3\n"},
	{[]string{"live"}, "local live = string.format('(%d', ms)\n"},
	{[]string{"ttl", "expires"}, "local ttl, expires\n"},
	{[]string{"counted"}, "local counted, counts\n"},
	{[]string{"tick"}, "local tick = usec % 64 == 0\n"},
	{[]string{"add", "members"}, gathering},
}

// gathering is what requests of a call put into one sorted set, to be added at once; it lasts for some milliseconds.
const gathering = `local into, members, lasts = false, {}
local function add()
  if into then
    redis.call('ZADD', into, unpack(members))
    redis.call('PEXPIRE', into, lasts)
    into, members = false, {}
  end
end
`

// begun returns a script with the prelude, and the words that it uses, ahead of it.
func (s *shapes) begun(script string) string {
	says := map[string]bool{}
	for name := range strings.FieldsFuncSeq(script, func(r rune) bool { return !inName(r) }) {
		says[name] = true
	}
	var w strings.Builder
	w.WriteString(s.prelude)
	for _, word := range words {
		name, _, _ := strings.Cut(word.text, " =")
		if slices.ContainsFunc(word.used, func(name string) bool { return says[name] }) &&
			!strings.Contains(s.prelude, name) { // those of tests have some of their own
			w.WriteString(word.text)
		}
	}
	w.WriteString(script)
	return w.String()
}

// inName tells whether a character is one of names in Lua.
func inName(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
