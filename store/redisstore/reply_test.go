package redisstore

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
)

// everyKind is a check of every kind of rule and some operations.
func everyKind(t testing.TB) []seawall.Check {
	t.Helper()
	limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(t, err)
	lease, err := concurrency.NewSlots(20, time.Minute)
	require.NoError(t, err)
	checks := []seawall.Check{{Limit: limit, Rule: lease, Cost: 1}}
	for _, q := range []ratelimit.Quota{
		ratelimit.TokenBucket(ratelimit.PerSecond(10), 20),
		ratelimit.SlidingLog(20, time.Minute),
		ratelimit.SlidingCounter(20, time.Minute),
		ratelimit.FixedWindow(20, ratelimit.Daily()),
	} {
		rule, err := q.Rule()
		require.NoError(t, err)
		checks = append(checks, seawall.Check{Limit: limit, Rule: rule, Cost: 3})
	}
	return append(checks,
		seawall.Check{Limit: limit, Rule: checks[1].Rule, Cost: 1, Op: seawall.Peek},
		seawall.Check{Limit: limit, Rule: checks[2].Rule, Cost: 1, Op: seawall.Refund},
		seawall.Check{Limit: limit, Rule: checks[3].Rule, Cost: 1, Op: seawall.Reset},
		seawall.Check{Limit: limit, Rule: checks[4].Rule, Cost: 1, Advisory: true})
}

func shapeOf(t testing.TB, checks []seawall.Check) *shape {
	t.Helper()
	all := shapes{prelude: prelude}
	args := make([]int, len(checks))
	for i := range checks {
		if checks[i].Op != seawall.Reset {
			args[i] = len(checks[i].Rule.Args(nil, seawall.Env{}, &checks[i]))
		}
	}
	sh, err := all.of(checks, args)
	require.NoError(t, err)
	return sh
}

// FuzzReply decodes what no script of ours returns: it is an error, or gives results, and never a panic.
func FuzzReply(f *testing.F) {
	f.Add(uint8(1), []byte{})
	f.Add(uint8(1), binary.LittleEndian.AppendUint64(nil, 7))
	for n := uint8(1); n < 10; n++ {
		f.Add(n, make([]byte, 8*30))
		for width := range 12 {
			reply := binary.LittleEndian.AppendUint64(nil, ^uint64(0))
			for i := range width {
				reply = binary.LittleEndian.AppendUint64(reply, 1<<62+uint64(i))
			}
			f.Add(n, reply)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		checks := everyKind(t)
		checks = checks[:1+int(n)%len(checks)]
		sh, reply := shapeOf(t, checks), []int64(nil)
		for ; len(data) >= 8; data = data[8:] {
			reply = append(reply, int64(binary.LittleEndian.Uint64(data)))
		}
		a, err := sh.answerOne(reply)
		if requests := len(reply) / sh.width(); err != nil && requests > 0 {
			a, err = sh.answerMany(reply, requests/2, requests)
		}
		if err != nil {
			return
		}
		if _, missed := a.missed(); missed {
			return
		}
		a.onlyLeasesRefuse(checks)
		for i := range checks {
			res := a.result(i, seawall.Env{}, &checks[i])
			if checks[i].Op <= seawall.Peek {
				require.Equal(t, a.ok(i), res.Admitted)
			}
		}
	})
}

func TestReplyOfTheWrongWidthIsRefused(t *testing.T) {
	checks := everyKind(t)
	sh := shapeOf(t, checks)
	width := sh.columns[len(checks)]
	assert.Equal(t, 1+1+2+4+3+2+2+0+0+2, width, "mask, lease, bucket, log, counter, window, a peek, and a window")
	accepts := func(sh *shape, reply []int64) error { _, err := sh.answerOne(reply); return err }
	require.NoError(t, accepts(sh, make([]int64, width)))
	require.NoError(t, accepts(sh, []int64{-1, 1_800_000_000, 5}), "a time, since there is a window")
	for _, reply := range [][]int64{nil, {}, {0}, {-1}, {-1, 1}, {-3, 1, 1}, {-2, 1}, make([]int64, width-1), make([]int64, width+1)} {
		assert.ErrorContains(t, accepts(sh, reply), "want")
	}
	require.NoError(t, accepts(sh, []int64{-2, 1_800_000_000, 5}), "too late")
	lease := shapeOf(t, checks[:1])
	assert.Error(t, accepts(lease, []int64{-1, 1_800_000_000, 5}), "no lease asks for the time")

	for n := range 4 {
		reply := make([]int64, n*width+2)
		for i := range n {
			_, err := sh.answerMany(reply, i, n)
			require.NoError(t, err)
			_, err = sh.answerMany(reply[1:], i, n)
			require.ErrorContains(t, err, "want")
			reply[i*width] = -3
			_, err = sh.answerMany(reply, i, n)
			require.ErrorContains(t, err, "want")
		}
	}
}
