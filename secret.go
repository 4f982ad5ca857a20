package seawall

import (
	"crypto/rand"
	"fmt"
)

// Secret keys the hashes of what callers are known by. It prints as "***".
type Secret [32]byte

// NewSecret returns 256 random bits.
func NewSecret() *Secret {
	s := new(Secret)
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// Format implements fmt.Formatter.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("***")) }

// SecretSharer is a [Store], or a [Stack], whose instances agree on a secret by themselves: for deployments that were
// given none.
type SecretSharer interface {
	// Secret returns the secret, never nil, which must not be changed. Another pointer is another secret: the instances
	// agree as soon as they have reached what they share, and until then each has one of its own.
	Secret() *Secret
}

// SecretOf returns s itself if it shares a secret, and otherwise what has one of its own. It is for what wraps stores.
func SecretOf(s Store) SecretSharer {
	if sharer, ok := s.(SecretSharer); ok {
		return sharer
	}
	return unshared{NewSecret()}
}

type unshared struct{ secret *Secret }

func (u unshared) Secret() *Secret { return u.secret }

// Secret implements SecretSharer by the stack's store.
func (s *Stack) Secret() *Secret { return s.secret.Secret() }
