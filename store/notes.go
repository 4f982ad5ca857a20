package store

import (
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/seawall-go/seawall"
)

// maxNotes is for how many limits of callers it is noted what remained.
const maxNotes = 100_000

// notes are what the shared store said last of the rates of this instance's callers.
type notes struct {
	began time.Time
	known *otter.Cache[noteKey, *note]
}

type noteKey struct {
	key   seawall.Key
	limit *seawall.Limit
}

// note is one answer of the shared store. It is used once, by the first local decision after it.
type note struct {
	limit, remaining int64
	next, reset      time.Duration // when, since notes began
	used             sync.Once
}

func newNotes() (*notes, error) {
	known, err := otter.New(&otter.Options[noteKey, *note]{
		MaximumSize: maxNotes,
		Executor:    func(work func()) { work() },
	})
	return &notes{began: time.Now(), known: known}, err
}

// take notes an answer.
func (n *notes) take(c *seawall.Check, res *seawall.Result) {
	now := time.Since(n.began)
	n.known.Set(noteKey{c.Key, c.Limit}, &note{
		limit: res.Limit, remaining: res.Remaining, next: now + res.NextAfter, reset: now + res.ResetAfter,
	})
}

// drop forgets what was noted, which a refund or a reset has made untrue.
func (n *notes) drop(c *seawall.Check) { n.known.Invalidate(noteKey{c.Key, c.Limit}) }

// use has f told what remains by the last answer, unless that was used before. When it returns, f has, whoever called it.
func (n *notes) use(c *seawall.Check, f func(remaining int64)) {
	if last, known := n.known.GetIfPresent(noteKey{c.Key, c.Limit}); known {
		last.used.Do(func() { f(last.at(time.Since(n.began))) })
	}
}

// at is what remains at a time if nobody spends: nothing more comes back before next, when one does, and from then on
// the rest evenly until reset. Of a bucket and of a fixed window that is exact.
func (l *note) at(now time.Duration) int64 {
	switch {
	case now >= l.reset:
		return l.limit
	case now < l.next || l.next >= l.reset || l.remaining >= l.limit:
		return l.remaining
	}
	rest := float64(l.limit - l.remaining - 1)
	return l.remaining + 1 + int64(rest*float64(now-l.next)/float64(l.reset-l.next))
}
