package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// words says what a rule allows.
func words(rule seawall.Rule) string {
	if rule == nil {
		return "this instance"
	}
	name := map[string]string{
		"bucket": "token bucket", "log": "sliding log", "counter": "sliding counter", "window": "fixed window",
		"block": "blocked", "lease": "in flight", "queue": "in flight, with a queue", "slot": "slots of the fleet",
	}[rule.Kind()]
	if name == "" {
		name = rule.Kind()
	}
	if quota, ok := rule.(ratelimit.Rule); ok && rule.Kind() != "block" {
		return fmt.Sprintf("%s, %d in %v", name, quota.Limit(), quota.Window())
	}
	return name
}

// maxName is the longest name of a caller that is kept, in bytes.
const maxName = 64

// plain returns a name as it may be printed: no longer than that, and in one line.
func plain(name string) string {
	if len(name) > maxName {
		cut := maxName
		for cut > 0 && !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut]
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, name)
}
