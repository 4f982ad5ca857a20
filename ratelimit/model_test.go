package ratelimit

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

// model is a token bucket as one would explain it: so many tokens, a fraction among them, and since when.
// It knows nothing of arrival times, and reckons exactly.
type model struct {
	burst    *big.Rat
	interval *big.Rat // ns a token
	tokens   *big.Rat
	at       int64 // zero: full since ever
}

func newModel(r Rate, burst int64) *model {
	i := ceil(big.NewRat(int64(r.Per), r.Count))
	return &model{burst: whole(burst), interval: new(big.Rat).SetInt(i), tokens: whole(burst)}
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// ask moves time on to now, and spends cost if it is there. Where the clock steps back, what is missing is
// missing for longer, but everything at most, and for good once somebody was refused for it.
func (m *model) ask(now, cost int64) seawall.Result {
	missing := new(big.Rat).Sub(m.burst, m.tokens)
	missing.Sub(missing, new(big.Rat).Quo(whole(now-m.at), m.interval)) // as much as a caller was told, uncut
	if missing.Sign() < 0 {
		missing.SetInt64(0)
	}
	cut := missing
	if missing.Cmp(m.burst) > 0 {
		cut = new(big.Rat).Set(m.burst)
	}
	left := new(big.Rat).Sub(m.burst, cut)
	res := seawall.Result{Admitted: left.Cmp(whole(cost)) >= 0, Limit: m.burst.Num().Int64()}
	switch {
	case res.Admitted:
		left.Sub(left, whole(cost))
		res.Committed = true
	case m.burst.Cmp(whole(cost)) < 0:
		res.RetryAfter = seawall.Never
	default:
		res.RetryAfter = m.wait(new(big.Rat).Sub(whole(cost), left))
	}
	if res.Committed || cut != missing { // otherwise a refusal changes nothing
		m.tokens, m.at = left, now
	}
	remaining := new(big.Int).Quo(left.Num(), left.Denom())
	res.Remaining = remaining.Int64()
	if res.Remaining < res.Limit {
		res.NextAfter = m.wait(new(big.Rat).Sub(whole(res.Remaining+1), left))
	}
	res.ResetAfter = m.wait(new(big.Rat).Sub(m.burst, left))
	return res
}

// wait is how long so many tokens take, in whole microseconds rounded up.
func (m *model) wait(tokens *big.Rat) time.Duration {
	us := new(big.Rat).Quo(new(big.Rat).Mul(tokens, m.interval), whole(1000))
	return time.Duration(ceil(us).Int64()) * time.Microsecond
}

// draw returns a random bucket over the whole range.
func draw(rnd *rand.Rand) (Rate, int64) {
	for {
		r := Rate{1 + rnd.Int64N(1_000_000), 1 + time.Duration(rnd.Int64N(int64(40*24*time.Hour)))}
		switch rnd.IntN(4) {
		case 0:
			r.Count = 1 + rnd.Int64N(9)
		case 1:
			r.Per = time.Second
		case 2:
			r = Rate{1, time.Microsecond + time.Duration(rnd.Int64N(3000))}
		}
		burst := 1 + rnd.Int64N(1<<rnd.IntN(31))
		if _, err := newBucket(r, burst); err == nil {
			return r, burst
		}
	}
}

// ask is what a store does with one check.
func ask(b *bucket, s *seawall.State, now, cost int64) seawall.Result {
	env, c := seawall.Env{Now: now}, &seawall.Check{Cost: cost}
	n, ok := b.Check(s, env, c)
	if ok {
		b.Commit(s, env, c)
	}
	return b.Result(n, ok, ok, env, c)
}

func TestBucketIsTheModel(t *testing.T) {
	for seed := range uint64(120) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		r, burst := draw(rnd)
		b, err := newBucket(r, burst)
		require.NoError(t, err)
		m, state := newModel(r, burst), &seawall.State{}
		now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC).UnixNano()
		for step := range 100 {
			switch rnd.IntN(6) {
			case 0: // the same moment
			case 1:
				now += rnd.Int64N(b.full/4 + 2)
			case 2:
				now += rnd.Int64N(2*b.interval + 2)
			case 3:
				now += b.interval * rnd.Int64N(3)
			case 4:
				now += rnd.Int64N(2000) - 1000
			case 5:
				now -= rnd.Int64N(min(3*b.full, int64(24*time.Hour)) + 1) // the clock steps back
			}
			cost := 1 + rnd.Int64N(burst+1)
			if rnd.IntN(2) == 0 {
				cost = 1 + rnd.Int64N(min(burst+1, 3))
			}
			want, got := m.ask(now, cost), ask(b, state, now, cost)
			require.Equal(t, want, got, "seed %d, step %d: %d at %v, cost %d", seed, step, burst, r, cost)
		}
	}
}

// TestI1OverAnyWindow asks greedily and looks at every window between two admissions.
func TestI1OverAnyWindow(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		var b *bucket
		var r Rate
		var burst int64
		for b == nil || b.full > int64(365*24*time.Hour) { // or the test outlives time
			var err error
			r, burst = draw(rnd)
			b, err = newBucket(r, burst)
			require.NoError(t, err)
		}
		type spent struct{ at, cost int64 }
		var all []spent
		state, now := &seawall.State{}, int64(1_800_000_000_000_000_000)
		for range 150 {
			cost := 1 + rnd.Int64N(max(1, burst/(1+rnd.Int64N(20))))
			res := ask(b, state, now, cost)
			if res.Admitted {
				all = append(all, spent{now, cost})
				now += rnd.Int64N(b.interval)
			} else {
				require.Positive(t, res.RetryAfter)
				early := *state
				require.False(t, ask(b, &early, now+int64(res.RetryAfter)-1000, cost).Admitted, "a microsecond early")
				now += int64(res.RetryAfter)
				require.True(t, ask(b, &seawall.State{Word: state.Word}, now, cost).Admitted, "refused after RetryAfter")
			}
		}
		for i := range all {
			sum := new(big.Int)
			for j := i; j < len(all); j++ {
				sum.Add(sum, big.NewInt(all[j].cost))
				most := new(big.Rat).Mul(big.NewRat(r.Count, int64(r.Per)), whole(all[j].at-all[i].at))
				most.Add(most, whole(burst))
				require.LessOrEqual(t, new(big.Rat).SetInt(sum).Cmp(most), 0, "seed %d: %d at %v", seed, burst, r)
			}
		}
	}
}

// TestExtremes fills a bucket that takes 100 years, today and as late as a nanosecond count allows.
func TestExtremes(t *testing.T) {
	for _, c := range []struct {
		rate  Rate
		burst int64
	}{{PerDay(1), 36_525}, {Rate{1, 30 * 24 * time.Hour}, 1217}, {Rate{10_000_000, 36_525 * 24 * time.Hour}, 10_000_000}} {
		b, err := newBucket(c.rate, c.burst)
		require.NoError(t, err)
		for _, year := range []int{2026, 2050, 2060} {
			now := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
			m, state := newModel(c.rate, c.burst), &seawall.State{}
			for i, cost := range []int64{c.burst + 1, c.burst, 1, c.burst, c.burst + 1, 1} {
				require.Equal(t, m.ask(now, cost), ask(b, state, now, cost), "%d, %v, step %d", year, c.rate, i)
			}
			assert.Equal(t, now+b.full, state.Word)
			assert.Equal(t, m.ask(now+b.full, c.burst), ask(b, state, now+b.full, c.burst), "full again after 100 years")
			assert.Equal(t, m.ask(now, 1), ask(b, state, now, 1), "and the clock stepped back as far")
			assert.Equal(t, now+b.full, state.Word, "a refusal cuts the debt for good")
		}
	}
}
