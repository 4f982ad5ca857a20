package seawall_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
)

func TestCallerIDs(t *testing.T) {
	t.Parallel()
	a, b := seawall.SecretOf([32]byte{1}), seawall.SecretOf([32]byte{2})
	alice := seawall.NewKey("user", "alice")
	assert.Regexp(t, `^[a-z2-7]{12}$`, a.CallerID(alice))
	assert.Equal(t, a.CallerID(alice), seawall.SecretOf([32]byte{1}).CallerID(seawall.NewKey("user", "alice")))
	assert.NotEqual(t, a.CallerID(alice), b.CallerID(alice))
	assert.NotEqual(t, a.CallerID(alice), a.CallerID(seawall.NewKey("user", "bob")))
	assert.Empty(t, a.CallerID(seawall.Key{}))
}
