//go:build unix

package redistest

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	own, other := NewAuthority(t), NewAuthority(t)
	s := StartTLS(t, own.Certificate(t, time.Hour))
	c := s.Client(t)
	require.NoError(t, c.Set(ctx, "k", "v", 0).Err())
	assert.True(t, strings.HasPrefix(s.URL(), "rediss://127.0.0.1:"), s.URL())
	assert.EqualValues(t, 1, s.CommandCalls(t, "set"))

	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(opTimeout)))
	_, err = conn.Write([]byte("PING\r\n"))
	require.NoError(t, err)
	answer := make([]byte, 5)
	_, _ = conn.Read(answer)
	assert.NotEqual(t, "+PONG", string(answer), "it says nothing in the clear")

	var expired x509.CertificateInvalidError
	s.Present(t, own.Certificate(t, -time.Hour))
	require.ErrorAs(t, s.Client(t).Ping(ctx).Err(), &expired)
	assert.Equal(t, x509.Expired, expired.Reason)
	var unknown x509.UnknownAuthorityError
	s.Present(t, other.Certificate(t, time.Hour))
	require.ErrorAs(t, s.Client(t).Ping(ctx).Err(), &unknown)
	require.NoError(t, c.Get(ctx, "k").Err(), "connections go on")

	s.Restart(t)
	require.NoError(t, s.Client(t).Ping(ctx).Err(), "with the certificate that it began with")
}

// TestWithoutTLS has a redis-server that says what one says that was built without TLS.
func TestWithoutTLS(t *testing.T) {
	t.Setenv("PATH", t.TempDir()+string(os.PathListSeparator)+os.Getenv("PATH"))
	fake, _, _ := strings.Cut(os.Getenv("PATH"), string(os.PathListSeparator))
	for said, want := range map[string]string{">>> 'tls-port \"12345\"'": "skip", ">>> 'tls-cert-file \"none\"'": "fatal"} {
		script := "#!/bin/sh\ncat <<'END'\n*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\n" + said + "\nBad directive or wrong number of arguments\nEND\nexit 1\n"
		require.NoError(t, os.WriteFile(filepath.Join(fake, "redis-server"), []byte(script), 0o700))
		e := &ending{TB: t}
		e.run(func() { StartTLS(e, NewAuthority(t).Certificate(t, time.Hour)) })
		assert.Equal(t, want, e.how, said)
	}
}
