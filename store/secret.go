package store

import "github.com/seawall-go/seawall"

// secretOf is the secret that a store's instances agree on, the zero one if they do not.
func secretOf(s seawall.Store) seawall.Secret {
	if sharer, ok := s.(seawall.SecretSharer); ok {
		return sharer.Secret()
	}
	return seawall.Secret{}
}

// Secret implements seawall.SecretSharer, by the shared store.
func (f *Failover) Secret() seawall.Secret { return secretOf(f.shared) }

// Secret implements seawall.SecretSharer, by the store.
func (c *DenyCache) Secret() seawall.Secret { return secretOf(c.store) }
