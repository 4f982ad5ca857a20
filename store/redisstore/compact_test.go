package redisstore_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

// What stored keys look like, with and without compact names.
var (
	readableKey = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}:\{[A-Za-z0-9_.@:/=-]{1,44}\}:[a-z][a-z0-9_-]{0,14}:[a-z][a-z0-9_-]{0,31}$`)
	compactKey  = regexp.MustCompile(`^\{[A-Za-z0-9_-]{11}\}([A-Za-z]|:[a-z][a-z0-9_-]{0,14}:[a-z][a-z0-9_-]{0,31})$`)
)

// hostile are callers that do what they can for a key of another form.
var hostile = []string{
	"", "a", "{", "}", "{}", "}{", "{a}", "a}:{b", "test:{a}:ratelimit:api", "*", "\x00", "\r\nFLUSHALL\r\n", "é\xff", "'\"",
	strings.Repeat("y", 41), strings.Repeat("y", 42), strings.Repeat("{", 1<<20),
}

// compact returns names with letters for some limits of the tests.
func compact() *redisstore.Compact {
	return &redisstore.Compact{
		Secret:  []byte("0123456789abcdef"),
		Letters: map[string]byte{"ratelimit:api": 'a', "ratelimit:one": 'O', "concurrency:in-flight": 'c'},
	}
}

// names returns how a store of the namespace names keys.
func names(t testing.TB, namespace string, c *redisstore.Compact) func(caller seawall.Key, layer, policy string) string {
	t.Helper()
	client := nobody(t)
	nameOf, err := redisstore.Names(redisstore.Config{Client: client, Namespace: namespace, Compact: c})
	require.NoError(t, err)
	return func(caller seawall.Key, layer, policy string) string { return nameOf(caller, limit(t, layer, policy)) }
}

func tagOf(t *testing.T, key string) string {
	t.Helper()
	tag, _, found := strings.Cut(key, "}")
	require.True(t, found, key)
	return tag
}

func TestCompactNames(t *testing.T) {
	t.Parallel()
	name, elsewhere := names(t, "test", compact()), names(t, "test", compact())
	seen := map[string]bool{}
	for _, caller := range hostile {
		k := seawall.NewKey(caller)
		tag := tagOf(t, name(k, "ratelimit", "api"))
		for _, l := range []struct{ layer, policy, want string }{
			{"ratelimit", "api", "a"},
			{"concurrency", "in-flight", "c"},
			{"ratelimit", "other", ":ratelimit:other"},
		} {
			key := name(k, l.layer, l.policy)
			assert.Regexp(t, compactKey, key)
			assert.Equal(t, tag+"}"+l.want, key, "one tag, and so one slot")
			assert.Equal(t, key, elsewhere(k, l.layer, l.policy), "the same on all instances")
			assert.False(t, seen[key], key)
			seen[key] = true
		}
	}
	assert.Len(t, name(seawall.NewKey("a"), "ratelimit", "api"), 14)
	assert.Equal(t, "{dIwcJY8BpJu}a", name(seawall.NewKey("caller"), "ratelimit", "api"),
		"another hash is empty state for everybody who upgrades")
}

func TestCompactNamesAreApart(t *testing.T) {
	t.Parallel()
	tags := map[string]string{}
	for _, namespace := range []string{"a", "ab"} {
		for _, secret := range []string{"0123456789abcdef", "0123456789abcdef\x00", "0123456789abcdeF", strings.Repeat("s", 65)} {
			name := names(t, namespace, &redisstore.Compact{Secret: []byte(secret)})
			for _, caller := range []string{"b", "bb"} {
				who := fmt.Sprintf("%q, %q, %q", namespace, secret, caller)
				tag := tagOf(t, name(seawall.NewKey(caller), "ratelimit", "api"))
				assert.Empty(t, tags[tag], who)
				tags[tag] = who
			}
		}
	}
}

func TestCompactIsCopied(t *testing.T) {
	t.Parallel()
	c := compact()
	name := names(t, "test", c)
	k := seawall.NewKey("a")
	before := name(k, "ratelimit", "api")
	c.Letters["ratelimit:api"] = 'z'
	clear(c.Secret)
	assert.Equal(t, before, name(k, "ratelimit", "api"))
}

func TestReadableNamesAreAsEver(t *testing.T) {
	t.Parallel()
	k := seawall.NewKey("a")
	assert.Equal(t, "test:{1.a}:ratelimit:api", names(t, "test", nil)(k, "ratelimit", "api"))
	assert.Equal(t, "test:{fleet}:fleetshed:ordinary", names(t, "test", nil)(seawall.FleetKey(), "fleetshed", "ordinary"))
}

func TestFleetNamesStayReadable(t *testing.T) {
	t.Parallel()
	c := compact()
	c.Letters["fleetshed:ordinary"] = 'f'
	assert.Equal(t, "test:{fleet}:fleetshed:ordinary", names(t, "test", c)(seawall.FleetKey(), "fleetshed", "ordinary"))
	assert.Regexp(t, `f$`, names(t, "test", c)(seawall.NewKey("fleet"), "fleetshed", "ordinary"), "a caller of that name is none")
}

func TestCompactErrorsNameFieldAndValue(t *testing.T) {
	t.Parallel()
	client := nobody(t)
	for _, bad := range []struct {
		secret  string
		letters map[string]byte
		want    []string
	}{
		{"", nil, []string{"Config.Compact.Secret has 0 bytes", "at least 16"}},
		{"too-short-secret"[:15], nil, []string{"Config.Compact.Secret has 15 bytes", "at least 16"}},
		{"long-enough-secret", map[string]byte{"": 'a'}, []string{`Config.Compact.Letters`, `""`, "want layer:policy"}},
		{"long-enough-secret", map[string]byte{"api": 'a'}, []string{`Config.Compact.Letters`, `"api"`, "want layer:policy"}},
		{"long-enough-secret", map[string]byte{"Ratelimit:api": 'a'}, []string{`"Ratelimit:api"`, "want layer:policy", `"Ratelimit"`}},
		{"long-enough-secret", map[string]byte{"ratelimit:a:b": 'a'}, []string{`"ratelimit:a:b"`, "want layer:policy", `"a:b"`}},
		{"long-enough-secret", map[string]byte{"ratelimit:": 'a'}, []string{`"ratelimit:"`, "want layer:policy"}},
		{"long-enough-secret", map[string]byte{"sixteen-letters-:a": 'a'}, []string{`"sixteen-letters-:a"`, "at most 15"}},
		{"long-enough-secret", map[string]byte{"ratelimit:api": 0}, []string{`Config.Compact.Letters["ratelimit:api"]`, `'\x00'`, "a-z or A-Z"}},
		{"long-enough-secret", map[string]byte{"ratelimit:api": '1'}, []string{`Config.Compact.Letters["ratelimit:api"]`, `'1'`, "a-z or A-Z"}},
		{"long-enough-secret", map[string]byte{"ratelimit:api": '}'}, []string{`Config.Compact.Letters["ratelimit:api"]`, `'}'`, "a-z or A-Z"}},
		{"long-enough-secret", map[string]byte{"ratelimit:api": 0xE9}, []string{`Config.Compact.Letters["ratelimit:api"]`, "a-z or A-Z"}},
		{
			"long-enough-secret",
			map[string]byte{"ratelimit:two": 'a', "concurrency:x": 'b', "ratelimit:one": 'a'},
			[]string{`Config.Compact.Letters["ratelimit:two"] is 'a'`, `"ratelimit:one"`, "of its own"},
		},
	} {
		_, err := redisstore.New(redisstore.Config{
			Client: client, Namespace: "test", Compact: &redisstore.Compact{Secret: []byte(bad.secret), Letters: bad.letters},
		})
		for _, want := range bad.want {
			assert.ErrorContains(t, err, want)
		}
		if err != nil && bad.secret != "" {
			assert.NotContains(t, err.Error(), bad.secret)
		}
	}
}

// TestCompactFleetIsInOneSlot runs on a server in Cluster mode, which refuses a script whose keys are in different
// slots.
func TestCompactFleetIsInOneSlot(t *testing.T) {
	t.Parallel()
	c := clusterOfOne(t)
	names := compact()
	names.Letters["fleetshed:ordinary"] = 'f'
	s, err := redisstore.New(redisstore.Config{Client: c, Namespace: "test", Compact: names})
	require.NoError(t, err)
	closeAtEnd(t, s)
	held, ok := take(t, s, slot(t, 4, 0.25))
	require.True(t, ok)
	holds(t, c, "test:{fleet}:fleetshed:ordinary", 1)
	release(t, s, held)
	holds(t, c, "test:{fleet}:fleetshed:ordinary", 0)
}

// TestCompactLeasesAreGivenBack follows a lease through the scripts of one request and of many leases, which name it
// each by themselves.
func TestCompactLeasesAreGivenBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client(t)
	s, err := redisstore.New(redisstore.Config{Client: connect(t, server), Namespace: "test", Compact: compact()})
	require.NoError(t, err)
	closeAtEnd(t, s)
	check := lease(t, "a", 1, 0)
	key := names(t, "test", compact())(check.Key, check.Limit.Layer(), check.Limit.Policy())
	held, ok := take(t, s, check)
	require.True(t, ok)
	holds(t, c, key, 1)
	release(t, s, held)
	holds(t, c, key, 0)
}

// BenchmarkNames names the state of one limit of one caller.
func BenchmarkNames(b *testing.B) {
	client := nobody(b)
	api, other := limit(b, "ratelimit", "api"), limit(b, "ratelimit", "other")
	for _, bench := range []struct {
		name    string
		compact *redisstore.Compact
		limit   *seawall.Limit
	}{
		{"readable", nil, api},
		{"compact", compact(), api},
		{"compact without a letter", compact(), other},
	} {
		b.Run(bench.name, func(b *testing.B) {
			nameOf, err := redisstore.Names(redisstore.Config{Client: client, Namespace: "payments", Compact: bench.compact})
			require.NoError(b, err)
			k := apiKey(1)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_ = nameOf(k, bench.limit)
				}
			})
		})
	}
}
