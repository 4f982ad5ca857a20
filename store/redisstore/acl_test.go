package redisstore_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
	"github.com/seawall-go/seawall/store/storetest"
)

// documented is the page that says what a Redis user must be allowed.
const documented = "../../docs/redis.md"

// rights are the words of the page's ACL line, for the keys of the tests instead of those of "payments".
func rights(t testing.TB, keys string) []string {
	t.Helper()
	page, err := os.ReadFile(documented)
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^ACL SETUSER .*$`).FindAllString(string(page), -1)
	require.Len(t, lines, 1, documented)
	require.Contains(t, lines[0], " ~payments:* ")
	return strings.Fields(strings.Replace(lines[0], "~payments:*", keys, 1))
}

// compactRights are the words that the page adds for Config.Compact.
func compactRights(t testing.TB) []string {
	t.Helper()
	page, err := os.ReadFile(documented)
	require.NoError(t, err)
	added := regexp.MustCompile("`(~\\{[^`]*)`").FindStringSubmatch(string(page))
	require.NotNil(t, added, documented)
	return strings.Fields(added[1])
}

// user is a client of the user whom the words make, and what Redis has refused to it.
type user struct {
	client *redis.Client
	admin  *redis.Client
}

func become(t testing.TB, server *redistest.Server, words []string) *user {
	t.Helper()
	admin := server.Client(t)
	command := make([]any, len(words))
	for i, word := range words {
		command[i] = word
	}
	require.NoError(t, admin.Do(context.Background(), command...).Err())
	return &user{patient(t, "redis://seawall:password@"+server.Addr()), admin}
}

// refused is what Redis did not let the user do, as commands and keys.
func (u *user) refused(t testing.TB) (commands, keys []string) {
	t.Helper()
	entries, err := u.admin.ACLLog(context.Background(), 128).Result()
	require.NoError(t, err)
	for _, e := range entries {
		switch e.Reason {
		case "command":
			commands = append(commands, e.Object)
		case "key":
			keys = append(keys, e.Object)
		default:
			t.Errorf("refused for %s: %s", e.Reason, e.Object)
		}
	}
	return commands, keys
}

// TestTheDocumentedUserIsEnough does all that a store does as the user of docs/redis.md.
func TestTheDocumentedUserIsEnough(t *testing.T) {
	t.Parallel()
	for name, names := range map[string]*redisstore.Compact{"readable": nil, "compact": compact()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			words := rights(t, "~test:*")
			if names != nil {
				words = append(words, compactRights(t)...)
			}
			u := become(t, redistest.Start(t), words)
			require.NoError(t, allOf(t, u.client, names, soon))
			commands, keys := u.refused(t)
			assert.Empty(t, commands)
			assert.Empty(t, keys)
		})
	}
}

// TestConformanceAsTheDocumentedUser runs every branch of the scripts as that user.
func TestConformanceAsTheDocumentedUser(t *testing.T) {
	server := redistest.Start(t)
	u := become(t, server, rights(t, "~test-*:*"))
	storetest.Run(t, openerOf(func(t testing.TB) *redis.Client { return patient(t, "redis://seawall:password@"+server.Addr()) }, nil))
	commands, keys := u.refused(t)
	assert.Empty(t, commands)
	assert.Empty(t, keys)
}

// TestTheDocumentedUserMayNothingElse takes each right away in turn: then Redis refuses something, and something fails.
func TestTheDocumentedUserMayNothingElse(t *testing.T) {
	t.Parallel()
	const brief = 300 * time.Millisecond
	words := append(rights(t, "~test:*"), compactRights(t)...)
	taken := 0
	for i, word := range words {
		if word[0] != '+' && word[0] != '~' {
			continue
		}
		taken++
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			u := become(t, redistest.Start(t), slices.Delete(slices.Clone(words), i, i+1))
			names := compact()
			if word == "~test:*" || word[0] == '+' {
				names = nil
			}
			failed := allOf(t, u.client, names, brief)
			commands, keys := u.refused(t)
			if word[0] == '~' {
				assert.Error(t, failed)
				assert.NotEmpty(t, keys)
				assert.Empty(t, commands)
				return
			}
			assert.Contains(t, commands, word[1:])
			assert.Empty(t, keys)
			if word != "+script|load" { // then each text is sent when it is needed
				assert.Error(t, failed)
			}
			if word == "+get" {
				assert.ErrorContains(t, failed, "token bucket of 2, 2 per 24h0m0s: admitted: true; want false")
			}
		})
	}
	assert.Greater(t, taken, 20)
}

// TestWhatAURLAdds has URLs that need a further right.
func TestWhatAURLAdds(t *testing.T) {
	t.Parallel()
	words := rights(t, "~test:*")
	for suffix, right := range map[string]string{"/3": "+select", "/?client_name=payments": "+client|setname"} {
		t.Run(right, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			for _, allowed := range []bool{true, false} {
				all := words
				if allowed {
					all = append(slices.Clone(words), right)
				}
				become(t, server, all)
				client, err := redisstore.NewClient("redis://seawall:password@" + server.Addr() + suffix)
				require.NoError(t, err)
				t.Cleanup(func() { _ = client.Close() })
				err = openOn(t, client).Probe(short(t, soon))
				assert.Equal(t, allowed, err == nil, "%v", err)
			}
		})
	}
}
