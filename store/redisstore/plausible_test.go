package redisstore

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hears returns what a suspicious connection reads of what the other end says, in pieces of so many bytes.
func hears(t *testing.T, says string, piece int) (string, error) {
	t.Helper()
	here, there := net.Pipe()
	defer there.Close()
	conn, err := suspicious(func(context.Context, string, string) (net.Conn, error) { return here, nil })(t.Context(), "", "")
	require.NoError(t, err)
	defer conn.Close()
	go func() {
		for b := []byte(says); len(b) > 0; b = b[min(piece, len(b)):] {
			if _, err := there.Write(b[:min(piece, len(b))]); err != nil {
				return
			}
		}
		there.Close()
	}()
	heard, err := io.ReadAll(conn)
	return string(heard), err
}

func TestWhatRedisSaysIsPlausible(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("*999999999\r\n", 50_000)
	for _, says := range []string{
		"+OK\r\n", ":42\r\n", "-ERR no\r\n", "$-1\r\n", "*-1\r\n", "$0\r\n\r\n", "_\r\n", ",1.5\r\n", "#t\r\n", "(3492890328409238509324850943850943825024385\r\n",
		"*3\r\n:1\r\n:2\r\n:3\r\n", "%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n*0\r\n",
		"$" + "600000" + "\r\n" + text[:600_000] + "\r\n+OK\r\n", "*65536\r\n", "=5\r\ntxt:a\r\n",
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			if piece == 1 && len(says) > 1000 {
				continue
			}
			heard, err := hears(t, says, piece)
			require.NoError(t, err)
			require.Equal(t, says, heard)
		}
	}
}

func TestWhatNoRedisSaysEndsTheConnection(t *testing.T) {
	t.Parallel()
	for _, says := range []string{
		"*500000000\r\n", "*4611686018427387904\r\n", "*99999999999999999999999999999999\r\n", "%100000\r\n", ">70000\r\n", "~70000\r\n", "|70000\r\n",
		"$2000000\r\n", "!2000000\r\n", "=2000000\r\n", "+" + strings.Repeat("x", 5000),
		strings.Repeat("*1\r\n", 300_000), strings.Repeat("%65536\r\n", 2), strings.Repeat("*1000\r\n", 66), "*2\r\n:1\r\n*70000\r\n", "$3\r\nabc\r\n*70000\r\n",
		strings.Repeat("HTTP/1.1 400 Bad Request ", 1000),
	} {
		for _, piece := range []int{3, 1 << 20} {
			heard, err := hears(t, says, piece)
			require.ErrorContains(t, err, "no Redis", "%.30q", says)
			assert.LessOrEqual(t, len(heard), mostHeard)
		}
	}
}

// TestAQuestionBeginsAnew has many answers, none of which is long.
func TestAQuestionBeginsAnew(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	conn, err := suspicious(func(context.Context, string, string) (net.Conn, error) { return here, nil })(t.Context(), "", "")
	require.NoError(t, err)
	defer conn.Close()
	go func() {
		question := make([]byte, 4)
		for {
			if _, err := io.ReadFull(there, question); err != nil {
				return
			}
			if _, err := there.Write(append([]byte("$100000\r\n"), bytes.Repeat([]byte("x"), 100_002)...)); err != nil {
				return
			}
		}
	}()
	b := make([]byte, len("$100000\r\n")+100_002)
	for range 30 {
		_, err := conn.Write([]byte("PING"))
		require.NoError(t, err)
		_, err = io.ReadFull(conn, b)
		require.NoError(t, err)
	}
}

func FuzzPlausible(f *testing.F) {
	f.Add([]byte("*3\r\n:1\r\n$3\r\nabc\r\n*0\r\n"), 1)
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		piece = max(1, piece)
		var whole, pieces stream
		var err error
		for rest := b; len(rest) > 0 && err == nil; rest = rest[min(piece, len(rest)):] {
			err = pieces.scan(rest[:min(piece, len(rest))])
		}
		require.Equal(t, err == nil, whole.scan(b) == nil)
		if err == nil {
			require.Equal(t, whole, pieces)
		}
	})
}
