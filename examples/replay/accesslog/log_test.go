package accesslog_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

const good = "192.0.2.1 - - [17/May/2015:08:05:32 +0000] \"GET / HTTP/1.1\" 200 5\n"

func TestOptionsAndFilesThatOpenRefuses(t *testing.T) {
	t.Parallel()
	combined, haproxy := []byte(good), samples[2].text(t)
	for _, c := range []struct {
		text []byte
		o    accesslog.Options
		want string
	}{
		{combined, accesslog.Options{Format: "clf"}, `format "clf": want combined, nginx-json, haproxy, traefik, caddy or auto`},
		{combined, accesslog.Options{Field: "agent"}, `standard input: field "agent": the format "combined" has no further fields, ` +
			`only the address, the user, the method and the path; ` +
			`want no field, or a log in one of the formats nginx-json, haproxy, traefik, caddy`},
		{haproxy, accesslog.Options{Field: "X-Api-Key"}, `standard input: field "X-Api-Key": of the format "haproxy" ` +
			`want the number of a captured request header, such as 1 for the first`},
		{nil, accesslog.Options{Format: "haproxy", Field: "0"}, `standard input: field "0": of the format "haproxy" ` +
			`want the number of a captured request header, such as 1 for the first`},
	} {
		_, err := accesslog.Open("-", bytes.NewReader(c.text), c.o)
		assert.EqualError(t, err, c.want)
	}
	_, err := accesslog.Open("-", nil, accesslog.Options{})
	assert.EqualError(t, err, "standard input: there is no standard input; want a file")
	none := filepath.Join(t.TempDir(), "none")
	_, err = accesslog.Open(none, nil, accesslog.Options{})
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, none+": no such file or directory; want a file, or - for standard input")
	_, err = accesslog.Open(t.TempDir(), nil, accesslog.Options{})
	assert.ErrorContains(t, err, "it is a directory; want a file")
}

func TestLogsThatNoFormatFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20+1)
	for name, c := range map[string]struct{ text, format, want string }{
		"empty":       {"", "", "standard input: no line; want an access log"},
		"empty lines": {"\n\r\n\n", "combined", "standard input: no line; want an access log"},
		"empty gzip":  {string(zipped(t, nil)), "", "standard input: no line; want an access log"},
		"BOM only":    {"\uFEFF", "caddy", "standard input: no line; want an access log"},
		"other text": {"to be\nor not\xff\n", "", `standard input: no format fits one of the first 2 lines, ` +
			`which begin with "to be"; want a log in one of the formats combined, nginx-json, haproxy, traefik, caddy`},
		"binary": {"\x7fELF\x02\x01\x00\x00", "", `no format fits one of the first 1 lines, ` +
			`which begin with "\x7fELF\x02\x01\x00\x00"; want`},
		"one long line": {long, "", `no format fits one of the first 1 lines`},
		"binary, told": {"\x7fELF\x02\x01\x00\x00", "haproxy", `standard input: 0 of 1 lines are "haproxy"; ` +
			`want a log in one of the formats combined,`},
		"another format": {strings.Repeat("?\n"+good, 600), "haproxy", `standard input: 0 of 1200 lines are "haproxy"; ` +
			`250 of the first 500 are "combined": want -format combined`},
		"JSON of another": {string(samples[4].text(t)), "traefik", `0 of 10 lines are "traefik"; ` +
			`4 of the first 10 are "caddy": want -format caddy`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := open(t, []byte(c.text), accesslog.Options{Format: c.format})
			assert.Equal(t, c.format, log.Format())
			assert.Empty(t, all(log))
			assert.ErrorContains(t, log.Err(), c.want)
			assert.False(t, log.Next(nil))
		})
	}
}

func TestTheFormatIsThatOfMostLines(t *testing.T) {
	t.Parallel()
	haproxy := string(samples[2].text(t)[:bytes.IndexByte(samples[2].text(t), '\n')+1])
	for text, want := range map[string]string{
		good + haproxy:                               "combined", // the first of Formats
		haproxy + good:                               "combined",
		haproxy + good + haproxy:                     "haproxy",
		strings.Repeat("#\n", 99) + haproxy:          "haproxy",
		good + strings.Repeat(haproxy, 9000):         "haproxy",
		strings.Repeat("x", 100_000) + "\n" + good:   "combined",
		strings.Repeat("x", 2_000_000) + "\n" + good: "combined",
	} {
		assert.Equal(t, want, open(t, []byte(text), accesslog.Options{}).Format())
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	fits := func(n int) string { return good[:len(good)-1] + strings.Repeat(" ", n-len(good)+1) }
	const most = 1 << 20
	text := good + fits(most) + "\r\n" + fits(most+1) + "\n" + fits(most+2) + "\n" + fits(9*most) + "\n" + good + fits(most+100)
	for _, stored := range [][]byte{[]byte(text), zipped(t, []byte(text))} {
		log := open(t, stored, accesslog.Options{})
		assert.Len(t, all(log), 3)
		require.NoError(t, log.Err())
		n, first := log.Bad()
		assert.Equal(t, int64(4), n)
		for i, number := range []int64{3, 4, 5, 7} {
			shown := fits(77) + "..."
			assert.Equal(t, accesslog.BadLine{Number: number, Text: shown, Why: "longer than 1 MiB"}, first[i])
		}
	}
}

func TestBadLinesAreShownAsPrintableText(t *testing.T) {
	t.Parallel()
	log := open(t, []byte(good+"\n\x1b[31m\x00é\n"+strings.Repeat("\n?", 9)), accesslog.Options{})
	assert.Len(t, all(log), 1)
	n, first := log.Bad()
	assert.Equal(t, int64(10), n)
	require.Len(t, first, 5)
	assert.Equal(t, accesslog.BadLine{Number: 3, Text: `\x1b[31m\x00\xc3\xa9`, Why: "no time stamp"}, first[0])
	assert.Equal(t, int64(5), first[1].Number)
}

func TestAFileThatIsCutOff(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat(good, 1000))
	stored := zipped(t, text)
	for name, c := range map[string]struct {
		stored []byte
		want   string
	}{
		"in the second member": {stored[:len(stored)-9], "bytes of the file, were read: the file is cut off: unexpected EOF"},
		"in the head":          {stored[:4], "only 0 lines, of 4 bytes of the file, were read: the file is cut off: unexpected EOF"},
		"damaged":              {append(bytes.Clone(stored[:len(stored)-8]), "12345678"...), "were read: gzip: invalid checksum"},
		"garbage behind":       {append(bytes.Clone(stored), "garbage behind"...), "only 1000 lines, of"},
	} {
		for _, format := range []string{"", "combined"} {
			log := open(t, c.stored, accesslog.Options{Format: format})
			got := all(log)
			assert.Equal(t, int64(len(got)), log.Lines(), name)
			assert.ErrorContains(t, log.Err(), c.want, name)
			if name == "in the second member" {
				assert.ErrorIs(t, log.Err(), io.ErrUnexpectedEOF)
				assert.Greater(t, len(got), 300)
			}
		}
	}
	broken := errors.New("the disk is gone")
	in := io.MultiReader(strings.NewReader(good+good+good[:20]), iotest.ErrReader(broken))
	log, err := accesslog.Open("-", in, accesslog.Options{})
	require.NoError(t, err)
	assert.Len(t, all(log), 2)
	assert.ErrorIs(t, log.Err(), broken)
	assert.ErrorContains(t, log.Err(), "standard input: only 2 lines, of 152 bytes of the file, were read: the disk is gone")
	n, _ := log.Bad()
	assert.Zero(t, n, "the line that is cut off")
}

func TestACompressedBombIsOneBadLine(t *testing.T) { // not parallel, since it looks at the memory
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write([]byte(good))
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for range 16 {
		_, err = z.Write(zeros)
		require.NoError(t, err)
	}
	_, err = z.Write([]byte("\n" + good))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	entries := all(open(t, out.Bytes(), accesslog.Options{}))
	runtime.ReadMemStats(&after)
	assert.Len(t, entries, 2)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
}

func TestPositionIsForAnybody(t *testing.T) {
	defer goleak.VerifyNone(t)
	file := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte(good), 50_000), 0o600))
	log, err := accesslog.Open(file, nil, accesslog.Options{})
	require.NoError(t, err)
	defer log.Close()
	done := make(chan struct{})
	seen := make(chan int64)
	go func() {
		last := int64(0)
		for {
			read, size := log.Position()
			if read < last || read > size {
				last = -1
			} else {
				last = read
			}
			select {
			case <-done:
				seen <- last
				return
			default:
			}
		}
	}()
	var e accesslog.Entry
	for log.Next(&e) {
		continue
	}
	close(done)
	assert.LessOrEqual(t, int64(0), <-seen)
	assert.NoError(t, log.Err())
	assert.Equal(t, int64(50_000), log.Lines())
	read, size := log.Position()
	assert.Equal(t, size, read)
}
