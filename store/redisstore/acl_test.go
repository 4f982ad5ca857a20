package redisstore_test

import (
	"context"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
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
			assert.Empty(t, keys)
			assert.Error(t, failed)
			if slices.Contains([]string{"+eval", "+evalsha", "+time"}, word) { // which a heartbeat itself needs
				assert.Contains(t, commands, word[1:])
				return
			}
			name, _, _ := strings.Cut(strings.ToUpper(word[1:]), "|")
			assert.ErrorContains(t, failed, "may not call "+name+", which Seawall needs")
			assert.ErrorContains(t, failed, "token bucket of 2, 2 per 24h0m0s: redisstore: auth: FORBIDDEN", "nothing is decided")
		})
	}
	assert.Greater(t, taken, 20)
}

// TestAUserWhoseRightsAreTakenIsNotUnlimited meanwhile, and is limited again soon after it has them back.
func TestAUserWhoseRightsAreTakenIsNotUnlimited(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	u := become(t, server, rights(t, "~test:*"))
	s, err := redisstore.NewTuned(redisstore.Config{Client: u.client, Namespace: "test", Logger: slog.New(slog.DiscardHandler)}, time.Hour, time.Minute)
	require.NoError(t, err)
	closesWell(t, s)
	check := bucket(t, "a", ratelimit.PerDay(1), 1)
	require.True(t, apply(t, s, check)[0].Admitted)
	for _, right := range []string{"get", "zcount", "zrem", "hgetall", "eval"} {
		command := strings.ToUpper(right)
		require.NoError(t, u.admin.Do(t.Context(), "ACL", "SETUSER", "seawall", "-"+right).Err())
		require.ErrorContains(t, s.Beat(), "may not call "+command)
		checks := []seawall.Check{check}
		_, err := s.Apply(short(t, soon), nil, checks)
		assert.Equal(t, "auth", seawall.Reason(err), "%v", err)
		assert.True(t, seawall.Undone(err))
		require.ErrorContains(t, s.Probe(short(t, soon)), "may not call "+command)
		require.NoError(t, u.admin.Do(t.Context(), "ACL", "SETUSER", "seawall", "+"+right).Err())
		require.NoError(t, s.Beat())
		require.NoError(t, s.Probe(short(t, soon)))
		assert.False(t, apply(t, s, check)[0].Admitted, command)
	}
}

// TestTheDocumentedUserIsEnoughOnACluster also while a caller's slot is on its way: one key here, one there.
func TestTheDocumentedUserIsEnoughOnACluster(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(documented)
	require.NoError(t, err)
	more := regexp.MustCompile("\\(#a-cluster\\) \\| `([^`]*)`").FindSubmatch(page)
	require.NotNil(t, more, documented)
	words := append(rights(t, "~test:*"), strings.Fields(strings.ReplaceAll(string(more[1]), `\|`, "|"))...)
	cluster := redistest.StartCluster(t, 2, 0)
	var users []*user
	for _, m := range cluster.Masters {
		users = append(users, become(t, m, words))
	}
	o, err := redisstore.ClusterOptions("redis://seawall:password@" + cluster.Addrs()[0] + "?read_timeout=5s")
	require.NoError(t, err)
	client := redis.NewClusterClient(o)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	s, err := redisstore.NewCluster(redisstore.Config{Client: client, Namespace: "test"})
	require.NoError(t, err)
	closesWell(t, s)
	require.Eventually(t, func() bool { return s.Fleet().Announced }, soon, tick)
	for at, caller := range each(t, s, 2) {
		check := bucket(t, caller, ratelimit.PerDay(1), 100)
		require.EqualValues(t, 99, apply(t, s, check)[0].Remaining)
		from, to := cluster.Masters[0], cluster.Masters[1]
		if from.Addr() != at {
			from, to = to, from
		}
		cluster.Pause = 200 * time.Millisecond // in which it has one key here and one there
		other := check
		other.Limit = limit(t, ratelimit.Name, "other")
		require.EqualValues(t, 99, apply(t, s, other)[0].Remaining)
		var asking sync.WaitGroup
		asking.Go(func() { cluster.Move(t, "test:{"+seawall.NewKey(caller).String()+"}:", to) })
		for range 40 {
			for _, c := range []seawall.Check{check, other} {
				require.True(t, apply(t, s, c)[0].Committed)
			}
			time.Sleep(10 * time.Millisecond) // until most of it has moved
		}
		asking.Wait()
		assert.Contains(t, from.Client(t).Info(t.Context(), "errorstats").Val(), "errorstat_ASK:", "the slot was on its way")
	}
	for _, u := range users {
		commands, keys := u.refused(t)
		assert.Empty(t, commands)
		assert.Empty(t, keys)
	}
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
