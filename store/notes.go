package store

import (
	"sync/atomic"
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

// note is one answer of the shared store. It is true until another one comes, whoever asks.
type note struct {
	limit, remaining int64
	next, reset      time.Duration // when, since notes began
	read             atomic.Bool
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

// read returns what remains by the last answer; ok is false if there is none that was not read before.
func (n *notes) read(c *seawall.Check) (remaining int64, ok bool) {
	last, known := n.known.GetIfPresent(noteKey{c.Key, c.Limit})
	if !known || last.read.Load() || last.read.Swap(true) {
		return 0, false
	}
	return last.at(time.Since(n.began)), true
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
