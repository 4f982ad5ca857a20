package identity_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/identity"
)

// sharing agrees on whatever secret it has.
type sharing struct{ secret seawall.Secret }

func (s *sharing) Secret() seawall.Secret { return s.secret }

func TestWithoutASecretInstancesUseWhatTheyShare(t *testing.T) {
	var log bytes.Buffer
	shared := &sharing{seawall.NewSecret()}
	cfg := identity.Config{Shared: shared, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	a, err := identity.NewHasher(cfg)
	require.NoError(t, err)
	b, err := identity.NewHasher(cfg)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(log.String(), "no secret is configured"), "one warning each")
	before := a.Key("key", "x")
	assert.Equal(t, before, b.Key("key", "x"))
	for range 3 {
		shared.secret = seawall.NewSecret() // the instance has reached its store
		after := a.Key("key", "x")
		assert.NotEqual(t, before, after)
		assert.Equal(t, after, b.Key("key", "x"))
		before = after
	}
	assert.Equal(t, 2, strings.Count(log.String(), "\n"))
	assert.NotContains(t, log.String(), fmt.Sprintf("%x", shared.secret.Bits()))
}

func TestWithoutAnythingAProcessHasASecretOfItsOwn(t *testing.T) {
	var log bytes.Buffer
	cfg := identity.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	a, err := identity.NewHasher(cfg)
	require.NoError(t, err)
	b, err := identity.NewHasher(cfg)
	require.NoError(t, err)
	before := a.Key("key", "x")
	assert.Equal(t, before, a.Key("key", "x"))
	assert.NotEqual(t, a.Key("key", "x"), b.Key("key", "x"))
	assert.Equal(t, 2, strings.Count(log.String(), "level=WARN"))
}

func TestASecretIsNotPrinted(t *testing.T) {
	s := seawall.NewSecret()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		assert.Equal(t, "***", fmt.Sprintf(verb, s), verb)
		bits := s.Bits()
		assert.NotContains(t, fmt.Sprintf(verb, struct{ within seawall.Secret }{s}), fmt.Sprintf(verb, bits[0:8]), verb)
	}
	text, err := json.Marshal(map[string]any{"secret": s})
	require.NoError(t, err)
	assert.JSONEq(t, `{"secret":{}}`, string(text))
}

func TestARotationHappensAtOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := time.Now().Add(time.Hour)
		rotating := identity.Config{Secret: secret("old"), Next: secret("next"), NextFrom: from}
		a, err := identity.NewHasher(rotating)
		require.NoError(t, err)
		assert.Equal(t, hasher(t, "old").Key("key", "x"), a.Key("key", "x"))
		time.Sleep(time.Hour - time.Nanosecond) // of the bubble
		assert.Equal(t, hasher(t, "old").Key("key", "x"), a.Key("key", "x"))
		time.Sleep(time.Nanosecond) // of the bubble
		assert.Equal(t, hasher(t, "next").Key("key", "x"), a.Key("key", "x"), "as an instance that knows only the next one")
		late, err := identity.NewHasher(rotating)
		require.NoError(t, err)
		assert.Equal(t, a.Key("key", "x"), late.Key("key", "x"))
	})
}

// TestARotationFromTheSharedSecret is for deployments that are given a secret of their own.
func TestARotationFromTheSharedSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &sharing{seawall.NewSecret()}
		h, err := identity.NewHasher(identity.Config{Shared: shared, Next: secret("next"), NextFrom: time.Now().Add(time.Hour), Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		before := h.Key("key", "x")
		assert.NotEqual(t, hasher(t, "next").Key("key", "x"), before)
		time.Sleep(time.Hour) // of the bubble
		assert.Equal(t, hasher(t, "next").Key("key", "x"), h.Key("key", "x"))
	})
}

// TestAStoreThatSharesNothing is about wrappers that do not know of secrets.
func TestAStoreThatSharesNothing(t *testing.T) {
	var log bytes.Buffer
	_, err := identity.NewHasher(identity.Config{Shared: &sharing{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	assert.Contains(t, log.String(), "others will know callers by other keys")
}

func TestConfigsThatCannotBe(t *testing.T) {
	soon := time.Now().Add(time.Hour)
	for want, cfg := range map[string]identity.Config{
		"Config.Secret has 31 bytes; want at least 32": {Secret: make([]byte, 31)},
		"Config.Next has 5 bytes; want at least 32":    {Secret: secret("a"), Next: []byte("short"), NextFrom: soon},
		"NextFrom is not set; want the moment":         {Secret: secret("a"), Next: secret("b")},
		"NextFrom is set and Next is not":              {Secret: secret("a"), NextFrom: soon},
		"Next is the same as Secret":                   {Secret: secret("a"), Next: secret("a"), NextFrom: soon},
		"neither Secret nor Shared is":                 {Next: secret("b"), NextFrom: soon},
	} {
		_, err := identity.NewHasher(cfg)
		require.ErrorContains(t, err, want)
	}
}

func TestAHugeKeyLeavesNoRoomBehind(t *testing.T) {
	h := hasher(t, "")
	huge := strings.Repeat("k", 1<<20)
	assert.Len(t, h.Key("key", huge).String(), len(h.Key("key", "x").String()))
	assert.NotEqual(t, h.Key("key", huge), h.Key("key", huge+"k"))
	before := h.Key("key", huge)
	assert.Equal(t, before, h.Key("key", huge))
}
