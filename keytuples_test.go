package seawall_test

import (
	"encoding/binary"
	"hash/maphash"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

// keyText is what every key's text must look like: nothing that ends a hash tag, a line or a label.
var keyText = regexp.MustCompile(`^[0-9h][A-Za-z0-9_.@:/=-]{0,43}$`)

// hostile are pieces of which tuples are made that try to run into each other.
var hostile = []string{
	"", "a", "b", "_b_", "a_path_b", "1", "1.", "1.a", "2.ab", ".", ":", "{", "}", "{a}", "}{", "a}b", "h", "fleet", "0.", "0.0.",
	"\x00", "\r\n", "\n", "é", "e\u0301", "%7B", " ", "\t", "*", "ratelimit:api", "3.fleet", "members", "capacity",
	strings.Repeat("a", 41), strings.Repeat("a", 42), strings.Repeat("a", 43), strings.Repeat("a", 44), strings.Repeat("{", 300),
}

// TestHostileTuplesShareNoKey builds the keys of a million different tuples of caller, tenant and route.
func TestHostileTuplesShareNoKey(t *testing.T) {
	t.Parallel()
	const tuples = 1_000_000
	seen, seed := make(map[string]uint64, tuples), maphash.MakeSeed()
	var quoted []byte
	add := func(parts ...string) {
		quoted = quoted[:0]
		for _, p := range parts {
			quoted = strconv.AppendQuote(quoted, p)
		}
		id := maphash.Bytes(seed, quoted) // of the parts, and of no others
		text := seawall.NewKey(parts...).String()
		if other, ok := seen[text]; ok && other != id {
			t.Fatalf("%q is the key of %.200s and of others", text, quoted)
		}
		seen[text] = id
		if len(text) > 44 || len(seen)%64 == 0 && !keyText.MatchString(text) {
			t.Fatalf("%q of %.50q", text, parts)
		}
	}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"", "", ""}, {"a"}, {"a", ""}, {"", "a"}} {
		add(parts...)
	}
	n := uint32(len(hostile))
	for i := uint32(0); len(seen) < tuples; i++ {
		a, b, c := hostile[i%n], hostile[i/n%n], hostile[i/n/n%n]
		turn := i / n / n / n
		tail := string(binary.BigEndian.AppendUint32(nil, turn))
		switch turn % 4 { // put together, the parts of many tuples are the same text
		case 0:
			add(a, b, c+tail)
		case 1:
			add(a+tail, b+c)
		case 2:
			add(a, tail+b, c)
		default:
			add(a, b+tail, c, "")
		}
	}
}

func TestKeysOfOtherPartsDiffer(t *testing.T) {
	for _, pair := range [][2][]string{
		{{"a", "b"}, {"ab"}},
		{{"a", "b"}, {"a", "b", ""}},
		{{"a_path_b"}, {"a", "path_b"}},
		{{"1.a"}, {"a"}},
		{{"a1.b"}, {"a", "b"}},
		{{}, {""}},
		{{"", ""}, {""}},
		{{"é"}, {"e\u0301"}},
		{{"A"}, {"a"}},
		{{strings.Repeat("a", 45)}, {strings.Repeat("a", 46)}},
	} {
		assert.NotEqual(t, seawall.NewKey(pair[0]...), seawall.NewKey(pair[1]...), "%q", pair)
	}
}

func FuzzKey(f *testing.F) {
	for i, a := range hostile {
		f.Add(a, hostile[(i+7)%len(hostile)], hostile[(i*5)%len(hostile)])
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		k := seawall.NewKey(a, b, c)
		require.Regexp(t, keyText, k.String())
		require.False(t, k.IsZero())
		require.NotEqual(t, seawall.FleetKey(), k)
		require.Equal(t, k, seawall.NewKey(a, b, c))
		for _, other := range [][]string{{a + b, c}, {a, b + c}, {a + b + c}, {a, b, c, ""}, {b, a, c}, {a + "\x00", b, c}} {
			same := len(other) == 3 && other[0] == a && other[1] == b && other[2] == c
			require.Equal(t, same, seawall.NewKey(other...) == k, "%q", other)
		}
	})
}
