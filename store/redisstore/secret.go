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

func (s *secret) init() { s.current.Store(seawall.NewSecret()) }

// text is the secret as it is stored.
func (s *secret) text() string { return hex.EncodeToString(s.current.Load()[:]) }

// adopt makes stored the secret. Another pointer tells that it is another one.
func (s *secret) adopt(stored *seawall.Secret) {
	if *stored != *s.current.Load() {
		s.current.Store(stored)
	}
}

// Secret implements seawall.SecretSharer. It is another one once the first heartbeat has reached Redis.
func (s *Store) Secret() *seawall.Secret { return s.secret.current.Load() }

func parseSecret(v any) (*seawall.Secret, error) {
	text, _ := v.(string)
	var secret seawall.Secret
	if n, err := hex.Decode(secret[:], []byte(text[:min(len(text), 2*len(secret))])); err != nil || n != len(secret) {
		return nil, errors.New("redisstore: a heartbeat's reply has no secret of 64 hexadecimal digits")
	}
	return &secret, nil
}
