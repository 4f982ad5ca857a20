//go:build unix

package redistest

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// CommandCalls returns how often the server has executed the command: the calls of its line in INFO
// commandstats, 0 if it has none. Subcommands are named as there, such as "script|load". Asking counts as one
// "info" and nothing else.
func (s *Server) CommandCalls(t testing.TB, cmd string) int64 {
	t.Helper()
	info := s.admin(t, "INFO commandstats")
	line, ok := field(info, "cmdstat_"+strings.ToLower(cmd))
	if !ok {
		return 0
	}
	calls, _, _ := strings.Cut(strings.TrimPrefix(line, "calls="), ",")
	n, err := strconv.ParseInt(calls, 10, 64)
	if err != nil {
		t.Fatalf("redistest: INFO commandstats says %q of %s", line, cmd)
	}
	return n
}

// ResetStat sets the server's statistics to zero.
func (s *Server) ResetStat(t testing.TB) {
	t.Helper()
	s.admin(t, "CONFIG RESETSTAT")
}

func (s *Server) admin(t testing.TB, command string) string {
	t.Helper()
	text, err := s.do(command, opTimeout)
	if err != nil {
		t.Fatalf("redistest: %s: %s: %v", s.Addr(), command, err)
	}
	return text
}

// do sends one command and returns its answer, a line or a text. It speaks the protocol itself: go-redis logs
// every refused connection, and its handshake shows in the statistics.
func (s *Server) do(command string, timeout time.Duration) (string, error) {
	conn, err := s.dial(timeout)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSpace(line)
	if simple, ok := strings.CutPrefix(line, "+"); ok {
		return simple, nil
	}
	length, ok := strings.CutPrefix(line, "$")
	n, err := strconv.ParseUint(length, 10, 24)
	if !ok || err != nil {
		return "", fmt.Errorf("answer: %q", line)
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return string(text), err
}

// dial connects. It trusts any certificate: which one the server has is for its clients to mind.
func (s *Server) dial(timeout time.Duration) (net.Conn, error) {
	d := &net.Dialer{Timeout: timeout}
	if s.cert == nil {
		return d.Dial("tcp", s.Addr())
	}
	return tls.DialWithDialer(d, "tcp", s.Addr(), &tls.Config{InsecureSkipVerify: true})
}

// field returns the value of a line of INFO.
func field(info, name string) (string, bool) {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}
