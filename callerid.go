package seawall

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// CallerID returns what people call a caller whom they are to know by nothing else: 12 lower-case letters and digits, 60
// bits of an HMAC-SHA-256 of its key. Reports, logs and the targeting of flags use it. It is the same wherever the secret
// is, and empty for the zero Key.
func (s Secret) CallerID(k Key) string {
	if k.IsZero() {
		return ""
	}
	bits := s.Bits()
	mac := hmac.New(sha256.New, append([]byte("seawall/caller\x00"), bits[:]...))
	mac.Write([]byte(k.text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)[:8])[:12])
}
