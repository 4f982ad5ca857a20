package middleware

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"net"
	"net/netip"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/seawall-go/seawall"
)

// Identify says who asks; see Config.
type Identify func(c echo.Context, r *seawall.Request) error

// Hasher turns secrets and addresses into keys that tell neither: 128 bits of their HMAC-SHA-256. It is safe
// for concurrent use.
type Hasher struct{ pool sync.Pool }

// NewHasher returns a Hasher. All instances that share a store must have the same secret, of at least 32
// random bytes, or a caller is another one on each. Without a secret the hash is still one-way for API keys,
// but whoever reads the store can find out addresses by trying them all.
func NewHasher(secret []byte) *Hasher {
	whole := sha256.Sum256(secret) // HMAC takes a short secret for the same one with zeros behind
	secret = append([]byte("seawall/v1\x00"), whole[:]...)
	return &Hasher{pool: sync.Pool{New: func() any { return &scratch{mac: hmac.New(sha256.New, secret)} }}}
}

// Key returns the key of a secret of the given kind, such as "key" or "login", from its parts.
func (h *Hasher) Key(kind string, parts ...string) seawall.Key {
	s := h.pool.Get().(*scratch)
	defer h.pool.Put(s)
	s.mac.Reset()
	s.text = appendPart(s.text[:0], kind)
	for _, p := range parts {
		s.text = appendPart(s.text, p)
	}
	s.mac.Write(s.text)
	s.text = s.mac.Sum(s.text[:0])
	return seawall.NewKey(kind, base64.RawURLEncoding.EncodeToString(s.text[:16]))
}

type scratch struct {
	mac  hash.Hash
	text []byte
}

func appendPart(b []byte, p string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(p))), p...)
}

// ByAddress identifies callers by client address: IPv4 addresses, also mapped ones, as they are, IPv6 by
// their /64. The address is Echo's RealIP, which is the socket's peer unless an IPExtractor is configured:
// behind a proxy configure one, or all clients share one key.
func ByAddress(h *Hasher) Identify {
	return func(c echo.Context, r *seawall.Request) error {
		r.Key = h.Key("addr", Address(c))
		return nil
	}
}

// ByAPIKey identifies callers by the bearer token of the Authorization header, and those without one by
// address. It does not verify the token: mount it behind what does, or add a policy per address, since
// whoever invents tokens gets a bucket for each.
func ByAPIKey(h *Hasher) Identify {
	byAddress := ByAddress(h)
	return func(c echo.Context, r *seawall.Request) error {
		if token := Bearer(c); token != "" {
			r.Key = h.Key("key", token)
			return nil
		}
		return byAddress(c, r)
	}
}

// Bearer returns the bearer token of the Authorization header, or "". A request with several such headers has
// none: what authenticates may accept any of them, and the others would be a free choice of key.
func Bearer(c echo.Context) string {
	const scheme = "bearer "
	values := c.Request().Header[echo.HeaderAuthorization]
	if len(values) != 1 {
		return ""
	}
	v := values[0]
	if len(v) <= len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) {
		return ""
	}
	return strings.TrimSpace(v[len(scheme):])
}

// Address returns the client's address as ByAddress sees it, for example "192.0.2.7" or "2001:db8:1:2::/64";
// what is no address is returned as it is.
func Address(c echo.Context) string {
	text := c.RealIP()
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return text
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return addr.String()
	}
	return prefix.String()
}
