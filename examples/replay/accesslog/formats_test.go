package accesslog_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

// entry is an Entry that lasts, with a time that can be read.
type entry struct {
	start                              string
	took                               time.Duration
	address, user, method, path, field string
}

// sample is what a file of testdata has.
type sample struct {
	file, format, field string
	entries             []entry
	bad                 []accesslog.BadLine // without the texts
	badLines            int64
}

const unknown = time.Duration(-1)

var samples = []sample{
	{
		file: "combined.log", format: "combined", badLines: 5,
		entries: []entry{
			{"2015-05-17T08:05:32Z", unknown, "192.0.2.1", "", "GET", "/v1/items", ""},
			{"2015-05-17T08:05:31.75Z", 250 * time.Millisecond, "2001:db8::1", "alice", "POST", "/v1/items", ""},
			{"2016-01-01T03:30:00Z", unknown, "client.example.com", "Alice [A] Smith", "", "", ""},
			{"2016-02-29T00:00:00Z", unknown, "192.0.2.2", "", "", "", ""},
			{"2016-03-01T00:00:00Z", unknown, "192.0.2.3", `x] \"GET`, "GET", `/a b\" c`, ""},
			{"2016-03-01T00:00:01Z", unknown, "192.0.2.4", "", "GET", "/proxied", ""},
			{"2016-03-01T00:00:02Z", unknown, "192.0.2.5", "", "", "", ""},
			{"2016-03-01T00:00:04Z", 0, "192.0.2.7", "", "CONNECT", "", ""},
		},
		bad: []accesslog.BadLine{
			{Number: 9, Why: "no time stamp"},
			{Number: 10, Why: "no time stamp"},
			{Number: 11, Why: "the time stamp is none of the years 1970 to 2262"},
			{Number: 12, Why: "no status"},
			{Number: 13, Why: "the time stamp is none of the years 1970 to 2262"},
		},
	},
	{
		file: "nginx.jsonl", format: "nginx-json", field: "http_x_api_key", badLines: 5,
		entries: []entry{
			{"2024-05-17T08:05:32.1Z", 23 * time.Millisecond, "192.0.2.1", "", "GET", "/v1/items", "k1"},
			{"2024-05-17T08:05:31Z", time.Second, "2001:db8::1", "alice", "POST", "/v1/items", ""},
			{"2024-05-17T08:05:32.5Z", unknown, "2001:db8::2", "", "GET", "/a", "k2"},
			{"2024-05-17T08:05:32.25Z", unknown, "192.0.2.4", "", "", "", "17"},
			{"2024-05-17T08:05:32Z", unknown, "192.0.2.5", "", "", "", ""},
			{"2024-05-17T08:05:31.998Z", 2 * time.Millisecond, "192.0.2.7", "", "GET", "/", ""},
		},
		bad: []accesslog.BadLine{
			{Number: 6, Why: "the time stamp is none of the years 1970 to 2262"},
			{Number: 7, Why: "the time stamp is none of the years 1970 to 2262"},
			{Number: 8, Why: "the duration is no number of the wanted unit, or negative"},
			{Number: 9, Why: "no client address"},
			{Number: 10, Why: "no JSON object"},
		},
	},
	{
		file: "haproxy.log", format: "haproxy", field: "1", badLines: 5,
		entries: []entry{
			{"2009-02-06T12:14:14.655Z", 109 * time.Millisecond, "192.0.2.1", "", "GET", "/index.html", "key|a"},
			{"2024-05-17T08:05:32.001Z", 250 * time.Millisecond, "2001:db8::1", "", "POST", "/a", "key2"},
			{"2024-05-17T08:05:33.999Z", 5 * time.Second, "192.0.2.3", "", "", "", ""},
			{"2024-05-17T08:05:34Z", unknown, "192.0.2.4", "", "GET", "/a/long/pa", ""},
			{"2024-05-17T08:05:34.1Z", 2 * time.Millisecond, "192.0.2.4", "", "GET", "/h2", ""},
		},
		bad: []accesslog.BadLine{
			{Number: 6, Why: "the duration is no number of the wanted unit, or negative"},
			{Number: 7, Why: "no client address"},
			{Number: 8, Why: "no time stamp"},
			{Number: 9, Why: "the duration is no number of the wanted unit, or negative"},
			{Number: 10, Why: "no status"},
		},
	},
	{
		file: "traefik.jsonl", format: "traefik", field: "request_X-Api-Key", badLines: 6,
		entries: []entry{
			{"2021-02-05T07:57:16.396057908Z", 188279, "192.0.2.1", "", "HEAD", "/v1/items", "k1"},
			{"2021-02-05T07:57:16Z", 0, "2001:db8::1", "alice", "", "", ""},
			{"2021-02-05T06:57:17.5Z", unknown, "192.0.2.2", "", "GET", "/", ""},
		},
		bad: []accesslog.BadLine{
			{Number: 4, Why: "the duration is no number of the wanted unit, or negative"},
			{Number: 5, Why: "the duration is no number of the wanted unit, or negative"},
			{Number: 6, Why: "the time stamp is none of the years 1970 to 2262"},
			{Number: 7, Why: "no time stamp"},
			{Number: 8, Why: "no JSON object"},
		},
	},
	{
		file: "caddy.jsonl", format: "caddy", field: "request.headers.X-Api-Key", badLines: 6,
		entries: []entry{
			{"2022-03-09T21:30:01.523172725Z", 929675, "192.0.2.1", "", "GET", "/v1/items", "k1"},
			{"2022-03-09T21:30:01.4985Z", 1500 * time.Microsecond, "2001:db8::1", "alice", "POST", "/a", ""},
			{"2022-03-09T21:30:01Z", unknown, "2001:db8::2", "", "OPTIONS", "*", ""},
			{"2022-03-09T21:30:01.25Z", 0, "192.0.2.4", "", "GET", "", ""},
		},
		bad: []accesslog.BadLine{
			{Number: 5, Why: "no access entry"},
			{Number: 6, Why: "no access entry"},
			{Number: 7, Why: "no access entry"},
			{Number: 8, Why: "the duration is no number of the wanted unit, or negative"},
			{Number: 9, Why: "the time stamp is none of the years 1970 to 2262"},
		},
	},
}

func (s *sample) text(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", s.file))
	require.NoError(t, err)
	return text
}

// open opens a text as standard input.
func open(t testing.TB, text []byte, o accesslog.Options) *accesslog.Log {
	t.Helper()
	log, err := accesslog.Open("-", bytes.NewReader(text), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, log.Close()) })
	return log
}

// all reads a log to its end.
func all(log *accesslog.Log) (entries []entry) {
	for e := (accesslog.Entry{}); log.Next(&e); {
		entries = append(entries, entry{
			time.Unix(0, e.Start).UTC().Format(time.RFC3339Nano), e.Took,
			string(e.Address), string(e.User), string(e.Method), string(e.Path), string(e.Field),
		})
	}
	return entries
}

// zipped is a text compressed as two members, as logs are that were appended to.
func zipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, part := range [][]byte{text[:len(text)/3], text[len(text)/3:]} {
		z := gzip.NewWriter(&out)
		_, err := z.Write(part)
		require.NoError(t, err)
		require.NoError(t, z.Close())
	}
	return out.Bytes()
}

func TestSamples(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		text := s.text(t)
		for name, stored := range map[string][]byte{
			"plain":         text,
			"gzip":          zipped(t, text),
			"CRLF, BOM":     append([]byte("\uFEFF"), bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))...),
			"no last end":   bytes.TrimRight(text, "\n"),
			"NUL in front":  append(make([]byte, 1000), text...),
			"empty at last": append(bytes.Clone(text), "\n\r\n\n"...),
		} {
			for _, format := range []string{"", "auto", s.format} {
				t.Run(s.format+" "+name+" "+format, func(t *testing.T) {
					t.Parallel()
					o := accesslog.Options{Format: format, Field: s.field}
					file := filepath.Join(t.TempDir(), "log")
					require.NoError(t, os.WriteFile(file, stored, 0o600))
					fromFile, err := accesslog.Open(file, nil, o)
					require.NoError(t, err)
					for _, log := range []*accesslog.Log{open(t, stored, o), fromFile} {
						s.check(t, log)
						read, size := log.Position()
						assert.Equal(t, int64(len(stored)), read)
						if log == fromFile {
							assert.Equal(t, read, size)
						} else {
							assert.Zero(t, size)
						}
					}
					require.NoError(t, fromFile.Close())
					require.NoError(t, fromFile.Close())
				})
			}
		}
	}
}

func (s *sample) check(t *testing.T, log *accesslog.Log) {
	t.Helper()
	assert.Equal(t, s.format, log.Format())
	assert.Equal(t, s.entries, all(log))
	assert.NoError(t, log.Err())
	n, first := log.Bad()
	assert.Equal(t, s.badLines, n)
	assert.Equal(t, int64(len(s.entries))+s.badLines, log.Lines())
	for i := range first {
		assert.NotEmpty(t, first[i].Text)
		first[i].Text = ""
	}
	assert.Equal(t, s.bad, first)
}

func TestFieldsOfOtherFormats(t *testing.T) {
	t.Parallel()
	second := open(t, samples[2].text(t), accesslog.Options{Field: "2"})
	assert.Equal(t, "Mozilla", all(second)[0].field)
	for field, want := range map[string]string{
		"a.b":     "whole", // although there is a path as well
		"c.d":     "path",
		"c.e.f.g": "dots",
		"c.e.f":   "",
		"c":       "",
		"h":       "true",
		"i":       "",
		"j":       "é\n",
		"none":    "",
		"k":       "",
		"c.":      "",
		".":       "",
	} {
		log := open(t, []byte(`{"time":1,"client":"a","a":{"b":"path"},"a.b":"whole","c":{"d":"path","e.f":{"g":"dots"}},`+
			`"h":true,"i":null,"j":"\u00e9\n","k":[[1]]}`), accesslog.Options{Format: "nginx-json", Field: field})
		got := all(log)
		require.Len(t, got, 1, field)
		assert.Equal(t, want, got[0].field, field)
	}
}

// forever is a text over and over.
type forever struct {
	text []byte
	at   int
}

func (f *forever) Read(p []byte) (int, error) {
	n := copy(p, f.text[f.at:])
	f.at = (f.at + n) % len(f.text)
	return n, nil
}

var _ io.Reader = (*forever)(nil)
