package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sample is the log of docs/replay.md: an evening of a shop that does not exist.
const sample = "testdata/shop.log.gz"

// hit is a line of it.
type hit struct {
	at            time.Time
	address, path string
	agent         string
}

// shop returns the evening: customers who look at pages, an office behind one address, a crawler, and a partner's script that
// asks for all prices every ten minutes.
func shop() (hits []hit) {
	rnd := rand.New(rand.NewPCG(2026, 11))
	opens := time.Date(2026, 11, 27, 18, 0, 0, 0, time.UTC)
	add := func(at time.Time, address, path, agent string) {
		if at.Before(opens.Add(3 * time.Hour)) {
			hits = append(hits, hit{at.Truncate(time.Second), address, path, agent})
		}
	}
	visit := func(at time.Time, address string) {
		for range 1 + rnd.IntN(5) {
			add(at, address, fmt.Sprintf("/products/%d", rnd.IntN(400)), "Mozilla/5.0")
			for range 2 + rnd.IntN(3) {
				at = at.Add(time.Duration(rnd.IntN(900)) * time.Millisecond)
				add(at, address, fmt.Sprintf("/api/stock/%d", rnd.IntN(400)), "Mozilla/5.0")
			}
			at = at.Add(time.Duration(3+rnd.IntN(40)) * time.Second)
		}
	}
	for i := range 180 {
		address := fmt.Sprintf("198.51.100.%d", i)
		if i%6 == 0 {
			address = fmt.Sprintf("2001:db8:%x::%x", i, rnd.IntN(1<<16))
		}
		for range 1 + rnd.IntN(2) {
			visit(opens.Add(time.Duration(rnd.Int64N(int64(3*time.Hour)))), address)
		}
	}
	for range 60 {
		visit(opens.Add(time.Duration(rnd.Int64N(int64(3*time.Hour)))), "203.0.113.9")
	}
	for at := opens.Add(70 * time.Minute); at.Before(opens.Add(82 * time.Minute)); at = at.Add(time.Duration(300+rnd.IntN(200)) * time.Millisecond) {
		add(at, "192.0.2.66", fmt.Sprintf("/products/%d", rnd.IntN(400)), "crawler/1.0")
	}
	for at := opens; at.Before(opens.Add(3 * time.Hour)); at = at.Add(10 * time.Minute) {
		for i := range 60 {
			add(at.Add(time.Duration(i)*60*time.Millisecond), "203.0.113.50", fmt.Sprintf("/api/prices/%d", i), "partner-sync/3.2")
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.at.Unix(), b.at.Unix()) })
	return hits
}

// TestTheSampleIsWhatItIsSaidToBe, and with -update it is made.
func TestTheSampleIsWhatItIsSaidToBe(t *testing.T) {
	var text bytes.Buffer
	for i, h := range shop() {
		fmt.Fprintf(&text, "%s - - [%s] \"GET %s HTTP/1.1\" 200 %d \"-\" %q\n", h.address, h.at.Format("02/Jan/2006:15:04:05 -0700"), h.path, 500+i%1000, h.agent)
		if i == 700 || i == 2100 {
			text.WriteString("\"Mozilla/5.0\"\n") // half a line, as a full disk leaves it
		}
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(text.Bytes())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	if *update {
		require.NoError(t, os.WriteFile(sample, packed.Bytes(), 0o600))
	}
	file, err := os.Open(sample)
	require.NoError(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	require.NoError(t, err)
	var got bytes.Buffer
	_, err = got.ReadFrom(unpacked)
	require.NoError(t, err)
	require.True(t, bytes.Equal(text.Bytes(), got.Bytes()), "want %d bytes; make it anew with -update", text.Len())
}
