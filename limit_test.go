package seawall_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

func TestNewLimitNamesWhatIsWrong(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	l, err := seawall.NewLimit(a(15), a(32), seawall.FailClosed)
	require.NoError(t, err)
	assert.Equal(t, a(15)+":"+a(32), l.Name())
	for want, c := range map[string]struct {
		layer, policy string
		failure       seawall.Failure
	}{
		`layer name ""`:            {"", "p", 0},
		`layer name "` + a(16):     {a(16), "p", 0},
		`layer name "` + a(33):     {a(33), "p", 0},
		`layer name "a:b"`:         {"a:b", "p", 0},
		`policy name ""`:           {"l", "", 0},
		`policy name "` + a(33):    {"l", a(33), 0},
		`policy name "a{b}"`:       {"l", "a{b}", 0},
		`policy name "1"`:          {"l", "1", 0},
		`policy name "a\n"`:        {"l", "a\n", 0},
		`"p": OnFailure is 3`:      {"l", "p", 3},
		`policy name "\xff"`:       {"l", "\xff", 0},
		`layer name "Überlastung"`: {"Überlastung", "p", 0},
	} {
		_, err := seawall.NewLimit(c.layer, c.policy, c.failure)
		require.ErrorContains(t, err, want)
	}
}

// TestKeysDoNotMeet builds keys of parts that run into each other when they are merely joined.
func TestKeysDoNotMeet(t *testing.T) {
	parts := []string{"", "a", "b", "ab", "1", "1.", "1.a", "1.a1.b", ".", ":", "{", "}", "\x00", "é", strings.Repeat("a", 41), strings.Repeat("a", 42)}
	seen := map[seawall.Key][]string{}
	add := func(p ...string) {
		k := seawall.NewKey(p...)
		assert.Nil(t, seen[k], "%q and %q", seen[k], p)
		seen[k] = p
		assert.LessOrEqual(t, len(k.String()), 44)
		assert.NotContains(t, k.String(), "{")
		assert.NotContains(t, k.String(), "}")
		assert.False(t, k.IsZero())
	}
	for _, p := range parts {
		add(p)
		for _, q := range parts {
			add(p, q)
			for _, r := range parts {
				add(p, q, r)
			}
		}
	}
	assert.True(t, seawall.NewKey().IsZero())
}
