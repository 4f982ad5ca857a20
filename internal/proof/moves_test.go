package proof

import (
	"time"

	"pgregory.net/rapid"

	"github.com/seawall-go/seawall/internal/proof/model"
)

// Clocks stay between these years: a bucket of 100 years must be full before nanoseconds run out in 2262.
var (
	earliest = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	latest   = time.Date(2061, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
)

// starts are times around which calendars are odd: the day that Apia left out, changes of clocks to both
// sides, ends of months and years, a leap day; and a time at which nothing happens.
var starts = []time.Time{
	time.Date(2011, 12, 29, 20, 0, 0, 0, time.UTC),
	time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC),
	time.Date(2026, 3, 8, 9, 59, 59, 0, time.UTC),
	time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC),
	time.Date(2026, 11, 1, 4, 31, 0, 0, time.UTC),
	time.Date(2018, 11, 4, 3, 0, 0, 0, time.UTC),
	time.Date(2028, 2, 28, 23, 59, 59, 999_999_000, time.UTC),
	time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC),
	time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
}

func drawStart(t *rapid.T) int64 {
	start := oneOf(t, "start", starts...).UnixMicro()
	return start + rapid.Int64Range(0, 3_600_000_000).Draw(t, "start µs")
}

// drawMove draws where the clock goes from now: nowhere, to where something should happen or just beside it,
// somewhere, and, if it may, back.
func drawMove(t *rapid.T, w *world, a *account, back bool) int64 {
	l := oneOf(t, "limit of move", a.limits...)
	length := l.real.Window().Microseconds()
	by := int64(0)
	move := rapid.IntRange(0, 9).Draw(t, "move")
	if !back && move >= 7 {
		move -= 7
	}
	switch move {
	case 0, 1:
	case 2, 3, 4: // to the end of a wait
		wait := oneOf(t, "wait", a.last.RetryAfter, a.last.NextAfter, a.last.ResetAfter)
		by = max(0, wait.Microseconds()+oneOf[int64](t, "beside", 0, 0, -1, 1, -1000))
	case 5: // to a boundary
		by = max(0, boundary(l.explained, w.now)-w.now+oneOf[int64](t, "beside", 0, -1, 1))
	case 6:
		by = rapid.Int64Range(0, 5*length/2).Draw(t, "µs on")
	case 7:
		by = -rapid.Int64Range(0, 100).Draw(t, "µs back")
	case 8:
		by = -upTo(t, "µs back", 3*length)
	case 9:
		by = upTo(t, "µs on", 1000)
	}
	if now := w.now + by; now >= earliest && now <= latest {
		return now
	}
	return w.now
}

// boundary is where the next window begins, of a rule that has windows.
func boundary(r model.Rule, now int64) int64 {
	switch r := r.(type) {
	case model.Window:
		_, next := r.Calendar.Around(now)
		return next
	case model.Counter:
		length := r.Window.Microseconds()
		return (now/length + 1) * length
	}
	return now
}
