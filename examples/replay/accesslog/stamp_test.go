package accesslog_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

// Every layout is read as the time package writes it, at any time that fits and in any zone.
func TestTimesAreExact(t *testing.T) {
	t.Parallel()
	combined, haproxy := "a - - [%s] \"-\" 200 0\n", "a:1 [%s] f b/s 0/0/0/0/0 200 0 - - ---- 0/0/0/0/0 0/0 \"-\"\n"
	nginx, caddy := "{\"time\":\"%s\",\"client\":\"a\"}\n", "{\"ts\":\"%s\",\"request\":{\"client_ip\":\"a\"}}\n"
	for _, c := range []struct {
		format, line, layout string
		exact                time.Duration
		zones                bool
	}{
		{"combined", combined, "02/Jan/2006:15:04:05 -0700", time.Second, true},
		{"haproxy", haproxy, "02/Jan/2006:15:04:05.000", time.Millisecond, false},
		{"nginx-json", nginx, time.RFC3339Nano, 1, true},
		{"nginx-json", nginx, "[02/Jan/2006:15:04:05 -0700]", time.Second, true},
		{"caddy", caddy, "2006-01-02T15:04:05.000Z0700", time.Millisecond, true},
		{"caddy", caddy, "2006/01/02 15:04:05.000000000", 1, false},
		{"caddy", caddy, "2006/01/02 15:04:05", time.Second, false},
		{"caddy", caddy, time.RFC3339, time.Second, true},
	} {
		t.Run(c.format+" "+c.layout, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(1, 2))
			var text bytes.Buffer
			var want []int64
			at := time.Unix(0, 0)
			for range 3000 {
				if rnd.IntN(3) == 0 {
					at = time.Unix(0, rnd.Int64N(math.MaxInt64-1e9))
				} else if next := at.Add(time.Duration(rnd.Int64N(int64(3*time.Hour))) - time.Hour); next.Unix() >= 0 {
					at = next
				}
				zone := time.UTC
				if c.zones {
					zone = time.FixedZone("", 60*(rnd.IntN(2*14*60)-14*60))
				}
				fmt.Fprintf(&text, c.line, at.In(zone).Format(c.layout))
				want = append(want, at.UnixNano()/int64(c.exact)*int64(c.exact))
			}
			log := open(t, text.Bytes(), accesslog.Options{})
			require.Equal(t, c.format, log.Format())
			var got []int64
			for e := (accesslog.Entry{}); log.Next(&e); {
				got = append(got, e.Start)
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestWhatIsNoTime(t *testing.T) {
	t.Parallel()
	for _, stamp := range []string{
		"00/May/2015:08:05:32 +0000", "29/Feb/2015:08:05:32 +0000", "17/may/2015:08:05:32 +0000", "17-May-2015:08:05:32 +0000",
		"17/May/2015 08:05:32 +0000", "17/May/2015:24:05:32 +0000", "17/May/2015:08:60:32 +0000", "17/May/2015:08:05:61 +0000",
		"17/May/2015:08:05:32 +2400", "17/May/2015:08:05:32 +0060", "17/May/2015:08:05:32 00000", "17/May/2015:08:05:32  0000",
		"01/Jan/1970:00:00:00 +0001", "31/Dec/1969:23:59:59 +0000", "11/Apr/2262:23:47:17 +0000", "1a/May/2015:08:05:32 +0000",
		"17/May/2015:08:05:-1 +0000", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00:00:00:00 \x00\x00\x00\x00\x00",
	} {
		log := open(t, []byte("a - - ["+stamp+"] \"-\" 200 0\n"), accesslog.Options{Format: "combined"})
		assert.Empty(t, all(log), stamp)
	}
	for _, stamp := range []string{
		`"2015-13-17T08:05:32Z"`, `"2015-05-32T08:05:32Z"`, `"2015-05-17 08:05"`, `"2015/05-17 08:05:32"`, `"2015-05-17X08:05:32"`,
		`"2015-05-17T08:05:32."`, `"2015-05-17T08:05:32.1.2"`, `"2015-05-17T08:05:32+1"`, `"2015-05-17T25:05:32"`,
		`"2015-05-17T08:05:32~02:00"`,
		`"yesterday"`, `""`, `"-"`, `null`, `true`, `{}`, `[1]`, `-1`, `1e400`, `1e-400e`, `9223372037`,
		`1e10`, `99999999999999999999`, `"0x10"`, `"1,5"`, `"NaN"`,
	} {
		log := open(t, []byte(`{"time":`+stamp+`,"client":"a"}`), accesslog.Options{Format: "nginx-json"})
		assert.Empty(t, all(log), stamp)
	}
}

func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]int64{
		"0": 0, "0.000000001": 1, "0.0000000019": 1, "1715933132.123456789": 1715933132123456789, "1.5e0": 1.5e9, "15E-1": 1.5e9,
		"1e-400": 0, "1715933132": 1715933132e9, "0.1": 1e8, "100000000000000000000e-20": 1e9,
	} {
		log := open(t, []byte(`{"time":`+number+`,"client":"a"}`), accesslog.Options{Format: "nginx-json"})
		var e accesslog.Entry
		if assert.True(t, log.Next(&e), number) {
			assert.Equal(t, strconv.FormatInt(want, 10), strconv.FormatInt(e.Start, 10), number)
		}
	}
}
