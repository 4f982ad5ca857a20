package accesslog_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

// busy is a combined log of many clients, three days and two zones.
func busy() []byte {
	var text bytes.Buffer
	for i := range 20_000 {
		at := time.Date(2024, 5, 17+i/8000, i/3600%24, i/60%60, i%60, 0, time.FixedZone("", i/10000*7200))
		fmt.Fprintf(&text, "10.0.%d.%d - - [%s] \"GET /v1/items/%d?page=%d HTTP/1.1\" 200 %d \"https://example.com/\" "+
			"\"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0\" 0.%03d\n",
			i/256%256, i%256, at.Format("02/Jan/2006:15:04:05 -0700"), i*7919%1000, i%10, i, i%1000)
	}
	return text.Bytes()
}

func TestCombinedNeedsNoMemory(t *testing.T) {
	log := open(t, busy(), accesslog.Options{})
	var e accesslog.Entry
	assert.Zero(t, testing.AllocsPerRun(10_000, func() { log.Next(&e) }))
	require.GreaterOrEqual(t, e.Took, time.Duration(0))
}

func TestBadLinesNeedNoMemory(t *testing.T) {
	text := append(samples[0].text(t), bytes.Repeat([]byte("no request\n"+good), 2000)...)
	log := open(t, text, accesslog.Options{})
	var e accesslog.Entry
	for range 20 {
		require.True(t, log.Next(&e))
	}
	assert.Zero(t, testing.AllocsPerRun(1000, func() { log.Next(&e) }))
}

func BenchmarkCombined(b *testing.B) { benchmark(b, busy(), "combined") }

func BenchmarkOthers(b *testing.B) {
	for _, s := range samples[1:] {
		text := s.text(b)
		// The first line is one as the format's own program writes it.
		b.Run(s.format, func(b *testing.B) { benchmark(b, text[:bytes.IndexByte(text, '\n')+1], s.format) })
	}
}

func benchmark(b *testing.B, text []byte, format string) {
	log, err := accesslog.Open("-", &forever{text: text}, accesslog.Options{Format: format})
	require.NoError(b, err)
	var e accesslog.Entry
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if !log.Next(&e) {
			b.Fatal(log.Err())
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	bad, _ := log.Bad()
	require.Zero(b, bad)
}
