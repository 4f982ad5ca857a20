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
	asked   atomic.Bool // by somebody who has none
	told    atomic.Bool // that Redis does not tell it
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

// adopt makes stored the secret; the zero one, which Redis does not tell, leaves it.
func (s *secret) adopt(stored seawall.Secret) {
	if !stored.IsZero() && stored.Bits() != s.current.Load().Bits() {
		s.current.Store(&stored)
	}
}

// Secret implements seawall.SecretSharer. It becomes another one once the first heartbeat has reached Redis.
func (s *Store) Secret() seawall.Secret {
	if !s.secret.asked.Load() {
		s.secret.asked.Store(true)
	}
	return *s.secret.current.Load()
}

// adopt follows a heartbeat's reply. It warns once if the instances cannot agree on a secret that somebody needs.
func (s *Store) adopt(stored seawall.Secret) {
	s.secret.adopt(stored)
	if stored.IsZero() && s.secret.asked.Load() && s.secret.told.CompareAndSwap(false, true) {
		s.log.Warn("seawall: this Redis user may not read the fleet's secret, so other instances know callers by other keys",
			"do", "allow the user GET, or configure a secret", "key", s.fleetName("secret"))
	}
}

// parseSecret reads a secret as it is stored; the empty text is none.
func parseSecret(v any) (seawall.Secret, error) {
	text, ok := v.(string)
	if ok && text == "" {
		return seawall.Secret{}, nil
	}
	var bits [32]byte
	if n, err := hex.Decode(bits[:], []byte(text[:min(len(text), 2*len(bits))])); err != nil || n != len(bits) {
		return seawall.Secret{}, errors.New("redisstore: a heartbeat's reply has no secret of 64 hexadecimal digits")
	}
	return seawall.SecretOf(bits), nil
}
