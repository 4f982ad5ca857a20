package seawall_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

func TestParseKeyReadsWhatStringReturns(t *testing.T) {
	for _, parts := range [][]string{
		{""},
		{"", ""},
		{"a"},
		{"user", "42"},
		{"1.a", "2.b"},
		{"12.34", "h"},
		{"h"},
		{strings.Repeat("a", 41)},
		{strings.Repeat("a", 42)}, // hashed
		{"not plain"},
		{"{brace}", "ü"},
		{strings.Repeat("long", 1000)},
	} {
		key := seawall.NewKey(parts...)
		parsed, err := seawall.ParseKey(key.String())
		require.NoError(t, err, parts)
		assert.Equal(t, key, parsed)
	}
}

func TestParseKeyRefusesWhatNoKeyHas(t *testing.T) {
	for _, text := range []string{
		"", "fleet", "user", "2.kea", "03.kea", "+3.kea", "-1.", "3.kea4", "3.kea4.", "3", ".", "3.k a", "9.a",
		"99999999999999999999.a", "42." + strings.Repeat("a", 42), strings.Repeat("0.", 23),
		"h", "h" + strings.Repeat("A", 31), "h" + strings.Repeat("A", 33), "h" + strings.Repeat("+", 32),
		"h" + strings.Repeat("A", 16) + "\n" + strings.Repeat("A", 16), "h" + strings.Repeat("A", 31) + "=",
		strings.Repeat("1.a", 100_000),
	} {
		_, err := seawall.ParseKey(text)
		require.ErrorContains(t, err, "seawall: key \"", text)
		require.ErrorContains(t, err, "want each part after its length")
		assert.Less(t, len(err.Error()), 400)
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("4.user2.42")
	f.Add("h" + strings.Repeat("A", 32))
	f.Fuzz(func(t *testing.T, text string) {
		key, err := seawall.ParseKey(text)
		if err == nil && (key.String() != text || key.IsZero()) {
			t.Errorf("%q became %q", text, key)
		}
		of := seawall.NewKey(text, text)
		if again, err := seawall.ParseKey(of.String()); err != nil || again != of {
			t.Errorf("%q: %v", of, err)
		}
	})
}

func TestHashedKeyIsTheKeyOfItsParts(t *testing.T) {
	for _, kind := range []string{"", "user", "not plain", strings.Repeat("k", 30), strings.Repeat("k", 60)} {
		for _, n := range []int{0, 1, 16, 24, 32, 200} {
			hash := []byte(strings.Repeat("\xff\x00\x7e", n))[:n]
			want := seawall.NewKey(kind, base64.RawURLEncoding.EncodeToString(hash))
			assert.Equal(t, want, seawall.HashedKey(kind, hash), "%q, %d bytes", kind, n)
		}
	}
}
