//go:build unix

package redistest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// StartTLS is Start for a server that has the certificate and speaks nothing but TLS; nil is Start itself. It asks clients for
// none. If redis-server was built without TLS the test is skipped.
func StartTLS(t testing.TB, cert *Certificate, args ...string) *Server {
	t.Helper()
	s := newServer(t)
	s.cert, s.args = cert, args
	s.start(t)
	return s
}

// StartClusterTLS is StartCluster for servers that have the certificate, and speak nothing but TLS, also with each other.
func StartClusterTLS(t testing.TB, cert *Certificate, masters, replicas int, args ...string) *Cluster {
	t.Helper()
	return startCluster(t, cert, masters, replicas, args...)
}

// StartSentinelTLS is StartSentinel for servers and Sentinels that have the certificate, and speak nothing but TLS, also with
// each other.
func StartSentinelTLS(t testing.TB, cert *Certificate) *Sentinel {
	t.Helper()
	return startSentinels(t, cert, itself)
}

// Present has a server that StartTLS started show another certificate to who connects from now on, until it is
// restarted.
func (s *Server) Present(t testing.TB, cert *Certificate) {
	t.Helper()
	s.admin(t, "CONFIG SET tls-cert-file "+cert.certFile+" tls-key-file "+cert.keyFile)
}

// lacksTLS tells whether the server did not start since it knows no TLS.
func (s *Server) lacksTLS() bool {
	return s.cert != nil && bytes.Contains(s.readLog(), []byte(">>> 'tls-port"))
}

// Authority is a certificate authority of one test, which nobody else trusts.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

// NewAuthority returns an Authority.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{key: newKey(t), file: filepath.Join(t.TempDir(), "ca.pem")}
	der := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "redistest"}, NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, a.key)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatalf("redistest: certificate: %v", err)
	}
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

// Roots are what clients trust who trust this Authority alone.
func (a *Authority) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return roots
}

// Certificate is one of a server on 127.0.0.1, and its key.
type Certificate struct {
	issuer            *Authority
	certFile, keyFile string
}

// Certificate returns a new one that lasts for so long from now on; a negative time is how long ago it expired.
func (a *Authority) Certificate(t testing.TB, lasts time.Duration) *Certificate {
	t.Helper()
	dir, key := t.TempDir(), newKey(t)
	c := &Certificate{a, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	writePEM(t, c.certFile, "CERTIFICATE", a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "redis"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(lasts),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, // of a node, to another
	}, key))
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatalf("redistest: key: %v", err)
	}
	writePEM(t, c.keyFile, "EC PRIVATE KEY", der)
	return c
}

// args are the arguments of a server that has the certificate.
func (c *Certificate) args() []string {
	return []string{"--tls-cert-file", c.certFile, "--tls-key-file", c.keyFile, "--tls-ca-cert-file", c.issuer.file}
}

// sign returns a certificate for the key, signed by the Authority, which signs its own first.
func (a *Authority) sign(t testing.TB, c *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatalf("redistest: serial number: %v", err)
	}
	c.SerialNumber, c.NotBefore = serial, c.NotAfter.Add(-48*time.Hour)
	issuer := a.cert
	if issuer == nil {
		issuer = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, issuer, &key.PublicKey, a.key)
	if err != nil {
		t.Fatalf("redistest: certificate: %v", err)
	}
	return der
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("redistest: key: %v", err)
	}
	return key
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}
