package redisstore

import (
	_ "embed"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

//go:embed prelude.lua
var prelude string

// shape is the scripts of one sequence of checks that differ only in their keys and numbers.
type shape struct {
	one      script        // for one request
	many     func() script // for several of them; nil of a shape that is too long
	alike    func() script // for several that share arguments; nil if there are none to share
	most     int           // how many requests one call is for at most
	keys     int           // of a request, without the capacity
	fleet    []bool        // which of them are the fleet's, so that requests may share them; none, if all are
	joint    int           // how many are
	args     int           // of a request, with the deadline
	same     []bool        // which of them depend on the rule alone
	shared   int           // how many do
	capacity bool          // a last key is the fleet's capacity
	misses   bool          // it may turn down the time its arguments were made for
	timed    bool          // the reply to one request ends with the time
	columns  []int         // where each check's observation begins in a request's reply, and behind the last one its width
}

// script is a text and its SHA, as Redis names it.
type script struct{ text, sha string }

func newScript(text string) script { return script{text, redis.NewScript(text).Hash()} }

// agree tells whether two requests can share arguments, and the fleet's keys.
func (sh *shape) agree(a, b *call) bool {
	for i, fleet := range sh.fleet {
		if fleet && a.keys[i] != b.keys[i] {
			return false
		}
	}
	for i, same := range sh.same {
		if same && a.args[i] != b.args[i] {
			return false
		}
	}
	return true
}

// width is how many numbers the reply to a request has.
func (sh *shape) width() int { return sh.columns[len(sh.columns)-1] }

// shapes composes scripts and keeps them. There are as many as there are sequences of rules and modes that requests
// meet: few, unless many policies are each about other requests. No text of a caller is in them.
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

// fleetKey is whose keys all requests may share.
var fleetKey = seawall.FleetKey()

// of returns the shape of the checks. args says how many arguments each check has.
func (s *shapes) of(checks []seawall.Check, args []int) (*shape, error) {
	var buf [64]byte
	kinds := buf[:0]
	for i := range checks {
		kinds = append(kinds, checks[i].Rule.Kind()...)
		kinds = append(kinds, ops[checks[i].Op], modeOf(&checks[i]))
		if checks[i].Timed {
			kinds = append(kinds, '@')
		}
		if checks[i].Key == fleetKey {
			kinds = append(kinds, '*')
		}
		kinds = append(kinds, '0'+byte(args[i]))
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

// modeOf tells how a check counts, for the key of its shape.
func modeOf(c *seawall.Check) byte {
	switch {
	case c.Advisory && c.CountOnly:
		return 'b'
	case c.Advisory:
		return 'a'
	case c.CountOnly:
		return 'c'
	}
	return 'e'
}
