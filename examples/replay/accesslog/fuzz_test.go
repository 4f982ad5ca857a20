package accesslog_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

// sound reads a log to its end and says what must be true of any.
func sound(t *testing.T, text []byte, o accesslog.Options) {
	t.Helper()
	log, err := accesslog.Open("-", bytes.NewReader(text), o)
	if err != nil {
		require.NotEmpty(t, o.Field, err)
		return
	}
	defer log.Close()
	requests := int64(0)
	for e := (accesslog.Entry{}); log.Next(&e); requests++ {
		require.GreaterOrEqual(t, e.Start, int64(0))
		require.LessOrEqual(t, int64(e.Took), math.MaxInt64-e.Start)
		require.GreaterOrEqual(t, int64(e.Took), int64(-1))
		require.NotEmpty(t, e.Address)
		require.False(t, bytes.ContainsAny(e.Path, "?#"), "%q", e.Path)
	}
	n, first := log.Bad()
	require.Equal(t, log.Lines(), requests+n)
	require.Len(t, first, int(min(n, 5)))
	for _, b := range first {
		require.NotEmpty(t, b.Why)
		require.LessOrEqual(t, len(b.Text), 80)
		require.Equal(t, -1, strings.IndexFunc(b.Text, func(r rune) bool { return r < ' ' || r > '~' }), b.Text)
	}
	if requests == 0 {
		require.Error(t, log.Err())
	}
	assert.False(t, log.Next(nil))
}

// fuzz tries a format on lines that are like those of its sample.
func fuzz(f *testing.F, s *sample, seeds ...string) {
	for line := range bytes.SplitSeq(s.text(f), []byte("\n")) {
		f.Add(line)
	}
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { sound(t, text, accesslog.Options{Format: s.format, Field: s.field}) })
}

func FuzzCombined(f *testing.F) {
	fuzz(
		f, &samples[0],
		"\x00\x00 [\x00\x00/\x00\x00\x00/\x00\x00\x00\x00:00:00:00 \x00\x00\x00\x00\x00] \"\" 200 0",
		" [01/Jan/2016:00:00:00 +0000] \"\" 200",
		":1 - - [01/Jan/2016:00:00:00 +0000] \"\" 200",
		"a - - [11/Apr/2262:23:47:16 +0000] \"GET / HTTP/1.1\" 200 5 \"\" \"\" 9999999999.9",
		"a - - [01/Jan/2016:00:00:00 +0000] \"GET \\\" 200",
	)
}

func FuzzNginxJSON(f *testing.F) {
	fuzz(
		f, &samples[1],
		`{"time":1,"client":"a","http_x_api_key":[]}`, `{"time":1,"client":"a","":{"":[{"a":"}"}]}}`,
		`{"time":"","client":"["}`, `{"time":0e0,"client":"a","request_time":1e-400}`, ` `, `{`, `{}`, `[]`,
		strings.Repeat(`{"a":`, 20_000), `{"a":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`,"time":1,"client":"a"}`,
	)
}

func FuzzHAProxy(f *testing.F) {
	fuzz(
		f, &samples[2],
		`[]:1 [17/May/2024:08:05:35.000] a b 0/0/0/0/0 200`, ` [17/May/2024:08:05:35.0] `, `:1 [17/May/2024:08:05:35.0] `,
		`a:1 [17/May/2024:08:05:35.000] a b ////99999999999999999999 200 0 - - - 0 0 {#4|#zz} "#"`,
	)
}

func FuzzTraefik(f *testing.F) {
	fuzz(
		f, &samples[3],
		`{"StartUTC":"2262-04-11T23:47:15Z","ClientHost":"a","Duration":9e18}`, `{"StartUTC":"0000-00-00T00:00:00","ClientHost":"a"}`,
	)
}

func FuzzCaddy(f *testing.F) {
	fuzz(
		f, &samples[4],
		`{"ts":9e9,"request":{"remote_ip":"a"},"duration":"2562047h"}`, `{"ts":"1e9","request":{"remote_addr":":"}}`, `{"request":{}}`,
	)
}

func FuzzOpen(f *testing.F) {
	for _, s := range samples {
		f.Add(s.text(f), "", s.field)
		f.Add(zipped(f, s.text(f)), s.format, s.field)
	}
	f.Add([]byte("\x1f\x8b"), "", "")
	f.Add([]byte("\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\x00\xff"), "", "")
	f.Add([]byte("\uFEFF\x00\r\n\r"), "auto", "")
	f.Fuzz(func(t *testing.T, text []byte, format, field string) {
		if !slices.Contains(accesslog.Formats(), format) {
			format = ""
		}
		sound(t, text, accesslog.Options{Format: format, Field: field})
	})
}
