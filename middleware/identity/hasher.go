package identity

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

// howTo says how a secret is configured.
const howTo = "give all instances the same 32 random bytes: Identify from identity.NewHasher(identity.Config{Secret: secret})"

// minSecret is the least that a secret has, in bytes.
const minSecret = 32

// Config configures a Hasher. The zero value works for one process.
type Config struct {
	// Secret keys the hashes: at least 32 random bytes, the same on all instances that share a store. Without it there
	// is a warning, and Shared says what they are keyed by.
	Secret []byte
	// Next takes Secret's place at the moment NextFrom, on all instances at once if all have been given both before.
	// Every caller then is a new one, whose limits start anew. Afterwards Next may become Secret at any time. Both zero is
	// no rotation.
	Next     []byte
	NextFrom time.Time
	// Shared has the secret that instances agree on by themselves, for those without one: the store, or the stack. Whoever
	// can read that store can then find out addresses by trying all of them. Nil, or one that shares nothing, is a secret
	// of this process alone.
	Shared seawall.SecretSharer
	// IPv6Prefix is how many bits of an IPv6 address tell clients apart, 32 to 128; zero is 64, which is what one client
	// can choose from at least.
	IPv6Prefix int
	// Logger is told what is missing; nil is slog.Default().
	Logger *slog.Logger
}

// Hasher turns secrets, accounts and addresses into keys that tell none of them: 128 bits of their HMAC-SHA-256. It is
// safe for concurrent use.
type Hasher struct {
	own        *keyed // nil: the shared secret
	next       *keyed // nil: no rotation
	from       time.Time
	shared     seawall.SecretSharer
	latest     atomic.Pointer[keyed] // by the shared secret
	ipv6Prefix int
}

// NewHasher returns a Hasher. A secret that is too short, or a rotation that is said by half, is an error.
func NewHasher(cfg Config) (*Hasher, error) {
	h := &Hasher{from: cfg.NextFrom, shared: cfg.Shared, ipv6Prefix: cfg.IPv6Prefix}
	if h.ipv6Prefix == 0 {
		h.ipv6Prefix = 64
	}
	for name, secret := range map[string][]byte{"Secret": cfg.Secret, "Next": cfg.Next} {
		if 0 < len(secret) && len(secret) < minSecret {
			return nil, fmt.Errorf("identity: Config.%s has %d bytes; want at least %d random ones", name, len(secret), minSecret)
		}
	}
	switch rotates := len(cfg.Next) > 0; {
	case h.ipv6Prefix < 32 || h.ipv6Prefix > 128:
		return nil, fmt.Errorf("identity: Config.IPv6Prefix is %d; want 32 to 128 bits, or zero for 64", cfg.IPv6Prefix)
	case rotates && cfg.NextFrom.IsZero():
		return nil, errors.New("identity: Config.NextFrom is not set; want the moment at which Next takes Secret's place")
	case !rotates && !cfg.NextFrom.IsZero():
		return nil, errors.New("identity: Config.NextFrom is set and Next is not; want the secret that takes Secret's place then")
	case rotates && len(cfg.Secret) == 0 && cfg.Shared == nil:
		return nil, errors.New("identity: Config.Next is set, and neither Secret nor Shared is; want the secret that it takes the place of")
	case rotates && bytes.Equal(cfg.Secret, cfg.Next):
		return nil, errors.New("identity: Config.Next is the same as Secret; want another one")
	case rotates:
		h.next = newKeyed(digest(cfg.Next))
	}
	if len(cfg.Secret) > 0 {
		h.own = newKeyed(digest(cfg.Secret))
		return h, nil
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if h.shared == nil || h.shared.Secret().IsZero() {
		h.own = newKeyed(seawall.NewSecret())
	}
	if h.own != nil || h.shared.Secret().Alone() {
		cfg.Logger.Warn("seawall: no secret is configured; this process makes one up, and others will know callers by other keys", "do", howTo)
		return h, nil
	}
	cfg.Logger.Warn("seawall: no secret is configured; one is made up and kept in the store, and whoever can read that can find out client addresses", "do", howTo)
	return h, nil
}

// digest is a secret of whatever length as one of 256 bits.
func digest(secret []byte) seawall.Secret { return seawall.SecretOf(sha256.Sum256(secret)) }

// Key returns the key of a caller of the given kind, such as "user", from its parts.
func (h *Hasher) Key(kind string, parts ...string) seawall.Key {
	return h.current().key(kind, parts)
}

// CallerID is what people call the caller of a key: see [seawall.Secret.CallerID]. It is keyed by the same secret.
func (h *Hasher) CallerID(k seawall.Key) string { return h.current().secret.CallerID(k) }

// current is keyed by the secret that counts now.
func (h *Hasher) current() *keyed {
	switch {
	case h.next != nil && !time.Now().Before(h.from):
		return h.next
	case h.own != nil:
		return h.own
	}
	secret := h.shared.Secret()
	if k := h.latest.Load(); k != nil && (k.secret == secret || k.secret.Bits() == secret.Bits()) {
		return k
	}
	k := newKeyed(secret)
	h.latest.Store(k)
	return k
}

// keyed hashes with one secret.
type keyed struct {
	secret seawall.Secret
	pool   sync.Pool
}

func newKeyed(secret seawall.Secret) *keyed {
	bits := secret.Bits()
	key := append([]byte("seawall/v1\x00"), bits[:]...)
	return &keyed{secret: secret, pool: sync.Pool{New: func() any { return &scratch{mac: hmac.New(sha256.New, key)} }}}
}

type scratch struct {
	mac  hash.Hash
	text []byte
}

// maxScratch is how much room a hash may leave for the next one, so that a caller with a long name does not make the
// pool grow.
const maxScratch = 4 << 10

func (k *keyed) key(kind string, parts []string) seawall.Key {
	s := k.pool.Get().(*scratch)
	s.mac.Reset()
	s.write(kind)
	for _, p := range parts {
		s.write(p)
	}
	s.text = s.mac.Sum(s.text[:0])
	key := seawall.HashedKey(kind, s.text[:16])
	if cap(s.text) <= maxScratch {
		k.pool.Put(s)
	}
	return key
}

// write hashes a part after its length, so that no two lists of parts are the same text.
func (s *scratch) write(part string) {
	s.text = append(binary.LittleEndian.AppendUint64(s.text[:0], uint64(len(part))), part...)
	s.mac.Write(s.text)
}
