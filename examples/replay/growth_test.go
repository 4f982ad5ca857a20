package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lines are a log of so many requests by so many callers.
func lines(n, callers int) string {
	some := make([]string, callers)
	for i := range some {
		some[i] = fmt.Sprintf("10.%d.%d.%d - - [27/Nov/2026:", i/65536, i/256%256, i%256)
	}
	var b strings.Builder
	at := ""
	for i := range n {
		if i%20 == 0 {
			second := i / 20
			at = fmt.Sprintf("%02d:%02d:%02d +0000] \"GET /a HTTP/1.1\" 200 5\n", second/3600, second/60%60, second%60)
		}
		b.WriteString(some[i%callers])
		b.WriteString(at)
	}
	return b.String()
}

// live is how many bytes a replay of the log holds at its end.
func live(t *testing.T, order, text string) int64 {
	t.Helper()
	file := write(t, "log", text)
	o, err := readOptions([]string{"-rate", "1/s", "-burst", "5", "-order", order, "-reorder", "10s", file}, nil)
	require.NoError(t, err)
	used := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := used()
	r, err := newReplay(o)
	require.NoError(t, err)
	require.NoError(t, r.open(t.Context(), nil))
	require.NoError(t, r.run(t.Context()))
	after := used()
	res, err := r.result()
	require.NoError(t, err)
	assert.EqualValues(t, strings.Count(text, "\n"), res.Requests)
	r.close()
	return after - before
}

// TestMemoryGrowsWithCallersAndNotWithLines in both orders.
func TestMemoryGrowsWithCallersAndNotWithLines(t *testing.T) {
	for _, order := range []string{inFileOrder, sorted} {
		few, many := live(t, order, lines(10_000, 500)), live(t, order, lines(100_000, 500))
		assert.Less(t, many-few, int64(512<<10), "%s: ten times the lines", order)
		callers := live(t, order, lines(100_000, 20_000))
		assert.Less(t, callers, int64(20_000*1200), "%s: so much for each caller", order)
		assert.Greater(t, callers, many, "%s: callers are what it grows with", order)
	}
}

// BenchmarkReplay is of a token bucket, by lines of a log without compression.
func BenchmarkReplay(b *testing.B) {
	const n = 200_000
	file := filepath.Join(b.TempDir(), "log")
	require.NoError(b, os.WriteFile(file, []byte(lines(n, 10_000)), 0o600))
	for _, order := range []string{inFileOrder, sorted} {
		b.Run(order, func(b *testing.B) {
			for b.Loop() {
				var out bytes.Buffer
				require.NoError(b, run(b.Context(), []string{"-json", "-rate", "1/s", "-burst", "10", "-order", order, file}, nil, &out, &out))
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
