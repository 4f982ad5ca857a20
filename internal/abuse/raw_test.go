package abuse

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wire is a connection on which anything can be sent.
type wire struct {
	net.Conn
	in *bufio.Reader
}

// dial opens a connection, which the test's end closes.
func dial(t *testing.T, addr string) *wire {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, soon)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Minute)))
	return &wire{conn, bufio.NewReaderSize(conn, 16<<10)}
}

// reset closes the connection with a RST.
func (w *wire) reset() {
	_ = w.Conn.(*net.TCPConn).SetLinger(0)
	_ = w.Close()
}

// raw is a response as it came.
type raw struct {
	code int
	head string // with the line of the status and the empty line
	body string
}

// names are the names of the headers, in the order in which they came, without those that say when.
func (r raw) names() (names []string) {
	for _, line := range strings.Split(r.head, "\r\n")[1:] {
		if name, _, ok := strings.Cut(line, ":"); ok {
			names = append(names, name)
		}
	}
	return names
}

// read reads the response to a request that was no HEAD.
func (w *wire) read() (r raw, err error) {
	var head bytes.Buffer
	length := int64(0)
	for {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return r, fmt.Errorf("after %q: %w", head.String(), err)
		}
		if head.Len() == 0 && len(line) > 12 {
			r.code, _ = strconv.Atoi(string(line[9:12]))
		}
		head.Write(line)
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok && len(name) == len("Content-Length") && string(name) == "Content-Length" {
			length, _ = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		}
		if len(line) == 2 {
			break
		}
	}
	body := make([]byte, length)
	_, err = io.ReadFull(w.in, body)
	r.head, r.body = head.String(), string(body)
	return r, err
}

// skip reads a response to a request that was no HEAD, and returns its status.
func (w *wire) skip() (code int, err error) {
	length := 0
	for {
		line, err := w.in.ReadSlice('\n')
		switch {
		case err != nil:
			return 0, err
		case len(line) == 2:
			_, err = w.in.Discard(length)
			return code, err
		case code == 0 && len(line) > 12:
			code, err = strconv.Atoi(string(line[9:12]))
		case line[0] == 'C' && len(line) > 16 && line[8] == 'L': // Content-Length
			length, err = strconv.Atoi(string(line[16 : len(line)-2]))
		}
		if err != nil {
			return 0, err
		}
	}
}

// ask sends what makes up one request, on a connection of its own, and reads the response.
func ask(t *testing.T, addr string, request ...string) (raw, error) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, soon)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(soon)))
	for _, part := range request {
		if _, err := io.WriteString(conn, part); err != nil {
			return raw{}, err
		}
	}
	return (&wire{conn, bufio.NewReaderSize(conn, 16<<10)}).read()
}
