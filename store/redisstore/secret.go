package redisstore

import (
	"encoding/hex"
	"errors"
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

// secret is what the instances agree on: one of this instance's own until the first heartbeat, then what Redis has. Where
// Redis has none, or lost it, the first heartbeat that reaches it gives it that of its instance.
type secret struct {
	current atomic.Pointer[seawall.Secret]
}

func (s *secret) init() {
	own := seawall.NewSecret()
	s.current.Store(&own)
}

// text is the secret as it is stored.
func (s *secret) text() string {
	bits := s.current.Load().Bits()
	return hex.EncodeToString(bits[:])
}

// adopt makes stored the secret.
func (s *secret) adopt(stored seawall.Secret) {
	if stored.Bits() != s.current.Load().Bits() {
		s.current.Store(&stored)
	}
}

// Secret implements seawall.SecretSharer. It becomes another one once the first heartbeat has reached Redis.
func (s *Store) Secret() seawall.Secret { return *s.secret.current.Load() }

// parseSecret reads a secret as it is stored.
func parseSecret(v any) (seawall.Secret, error) {
	text, _ := v.(string)
	var bits [32]byte
	if n, err := hex.Decode(bits[:], []byte(text[:min(len(text), 2*len(bits))])); err != nil || n != len(bits) {
		return seawall.Secret{}, errors.New("redisstore: a heartbeat's reply has no secret of 64 hexadecimal digits")
	}
	return seawall.SecretOf(bits), nil
}
