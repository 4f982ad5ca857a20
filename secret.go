package seawall

import (
	"crypto/rand"
	"fmt"
	"sync"
)

// Secret keys the hashes of what callers are known by: 256 bits. The zero Secret is none. Two are equal if one is a copy of
// the other. It prints as "***", also inside of something else, and has no JSON.
type Secret struct {
	bits  *[32]byte
	alone bool
}

// NewSecret returns a random secret.
func NewSecret() Secret {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	return SecretOf(bits)
}

// SecretOf returns the secret of the given bits.
func SecretOf(bits [32]byte) Secret { return Secret{bits: &bits} }

// Alone tells that nobody else can have it: the store behind it shares none.
func (s Secret) Alone() bool { return s.alone }

// IsZero tells whether there is none.
func (s Secret) IsZero() bool { return s.bits == nil }

// Bits returns the secret's bits; those of none are zero.
func (s Secret) Bits() (bits [32]byte) {
	if s.bits != nil {
		bits = *s.bits
	}
	return bits
}

// Format implements fmt.Formatter.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("***")) }

// SecretSharer is a [Store], or a [Stack], whose instances agree on a secret by themselves: for deployments that were
// given none.
type SecretSharer interface {
	// Secret returns the secret, or the zero one if there is nothing that instances could share it through. It may become
	// another one: the instances agree as soon as they have reached what they share, and until then each has one of its own.
	Secret() Secret
}

// ownSecret is this process' own, Alone: all stacks over stores that share none must know a caller by one key.
var ownSecret = sync.OnceValue(func() Secret { //nolint:gochecknoglobals // one per process is the point
	s := NewSecret()
	s.alone = true
	return s
})

// Secret implements SecretSharer by the stack's store. Where that shares none, it is one of this process', which is Alone.
func (s *Stack) Secret() Secret {
	if sharer, ok := s.store.(SecretSharer); ok {
		if shared := sharer.Secret(); !shared.IsZero() {
			return shared
		}
	}
	return ownSecret()
}
