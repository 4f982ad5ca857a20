package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
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
)

// fake is a server that answers every script with the same bytes, or hangs up if there are none.
type fake struct {
	listener net.Listener
	answer   string
	all      sync.WaitGroup
}

func startFake(t *testing.T, answer string) *redis.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fake{listener: l, answer: answer}
	f.all.Go(f.accept)
	o, err := redisstore.Options("redis://" + l.Addr().String())
	require.NoError(t, err)
	c := redis.NewClient(o)
	t.Cleanup(func() {
		_ = c.Close()
		_ = l.Close()
		f.all.Wait()
	})
	return c
}

func (f *fake) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.all.Go(func() {
			defer func() { _ = conn.Close() }()
			r := bufio.NewReader(conn)
			for {
				words, err := command(r)
				if err != nil {
					return
				}
				answer := "+OK\r\n"
				switch strings.ToLower(words[0]) {
				case "hello":
					answer = "-ERR unknown command\r\n"
				case "evalsha", "eval":
					if answer = f.answer; answer == "" {
						return
					}
				}
				if _, err := io.WriteString(conn, answer); err != nil {
					return
				}
			}
		})
	}
}

// command reads one command.
func command(r *bufio.Reader) (words []string, err error) {
	number := func(mark string) (int, error) {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), mark))
	}
	n, err := number("*")
	if err == nil && n < 1 {
		return nil, fmt.Errorf("a command of %d words", n)
	}
	for range n {
		length, err := number("$")
		if err != nil {
			return nil, err
		}
		word := make([]byte, length+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		words = append(words, string(word[:length]))
	}
	return words, err
}

// TestErrorRepliesHaveReasons has a server refuse every script.
func TestErrorRepliesHaveReasons(t *testing.T) {
	t.Parallel()
	for reply, reason := range map[string]string{
		"READONLY You can't write against a read only replica.":                                                "readonly",
		"MASTERDOWN Link with MASTER is down":                                                                  "readonly",
		"NOREPLICAS Not enough good replicas to write.":                                                        "readonly",
		"MISCONF Redis is configured to save RDB snapshots":                                                    "readonly",
		"OOM command not allowed when used memory > 'maxmemory'.":                                              "oom",
		"NOAUTH Authentication required.":                                                                      "auth",
		"WRONGPASS invalid username-password pair or user is disabled.":                                        "auth",
		"NOPERM this user has no permissions to run the 'evalsha' command":                                     "auth",
		"LOADING Redis is loading the dataset in memory":                                                       "loading",
		"BUSY Redis is busy running a script.":                                                                 "busy",
		"MOVED 1234 127.0.0.1:1":                                                                               "moved",
		"ASK 1234 127.0.0.1:1":                                                                                 "moved",
		"TRYAGAIN Multiple keys request during rehashing of slot":                                              "moved",
		"CLUSTERDOWN Hash slot not served":                                                                     "moved",
		"CROSSSLOT Keys in request don't hash to the same slot":                                                "moved",
		"NOSCRIPT No matching script. Please use EVAL.":                                                        "script",
		"ERR user_script:1: attempt to index a nil value":                                                      "script",
		"WRONGTYPE Operation against a key":                                                                    "script",
		"ERR Error running script (call to f_1): @user_script: 1: oh":                                          "script",
		"ERR The user executing the script can't run this command or subcommand script: 1, on @user_script:4.": "auth",
		"ERR ACL failure in script: User default has no permissions to run the 'zrem' command":                 "auth",
		"ERR unknown command 'EVALSHA'":                                                                        "error",
		"something new":                                                                                        "error",
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			s := openOn(t, startFake(t, "-"+reply+"\r\n"))
			_, err := s.Apply(short(t, soon), nil, []seawall.Check{lease(t, "a", 1, time.Minute)})
			require.Error(t, err)
			assert.Equal(t, reason, reasonOf(err), "%v", err)
			assert.ErrorContains(t, err, strings.Fields(reply)[0])
		})
	}
}

// TestOddRepliesAreErrors has a server answer scripts with something else than the numbers they return.
func TestOddRepliesAreErrors(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"too few": "*1\r\n:3\r\n", "too many": "*4\r\n:3\r\n:0\r\n:0\r\n:0\r\n", "none": "*0\r\n", "nil array": "*-1\r\n",
		"nil": "$-1\r\n", "status": "+OK\r\n", "number": ":3\r\n", "text": "$3\r\nabc\r\n", "nested": "*3\r\n:3\r\n*1\r\n:1\r\n:0\r\n",
		"words": "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", "nils": "*3\r\n$-1\r\n$-1\r\n$-1\r\n", "cut off": "*3\r\n:3\r\n", "garbage": "?\r\n",
		"hang up": "", "huge": "*3\r\n:99999999999999999999\r\n:0\r\n:0\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openOn(t, startFake(t, reply))
			_, err := s.Apply(short(t, soon), nil, []seawall.Check{lease(t, "a", 1, time.Minute)})
			require.Error(t, err)
			assert.Contains(t, []string{"error", "script", "timeout"}, reasonOf(err), "%v", err)
		})
	}
	for name, reply := range map[string]string{
		"a time": "*3\r\n:-1\r\n:1764460800\r\n:0\r\n", "negative": "*3\r\n:-1\r\n:-1\r\n:-1\r\n", "large": "*3\r\n:9223372036854775807\r\n:9223372036854775807\r\n:1\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openOn(t, startFake(t, reply))
			assert.NotPanics(t, func() {
				_, _ = s.Apply(short(t, soon), nil, []seawall.Check{bucket(t, "a", ratelimit.PerSecond(1), 5)})
			})
		})
	}
}

func TestReasonsOfARealServer(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T) []seawall.Check {
		return []seawall.Check{bucket(t, "a", ratelimit.PerSecond(1000), 1000)}
	}
	refuses := func(t *testing.T, s *redisstore.Store, reason string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			_, err := s.Apply(short(t, soon), nil, check(t))
			require.Error(c, err)
			require.Equal(c, reason, reasonOf(err), "%v", err)
		}, soon, 5*time.Millisecond)
	}
	server := redistest.Start(t)
	admin := server.Client(t)
	s := openReal(t, server)
	apply(t, s, check(t)...)

	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	refuses(t, s, "oom")
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "0").Err())
	apply(t, s, check(t)...)

	require.NoError(t, admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	refuses(t, s, "readonly")
	require.NoError(t, admin.ReplicaOf(t.Context(), "NO", "ONE").Err())
	apply(t, s, check(t)...)

	require.NoError(t, admin.ConfigSet(t.Context(), "busy-reply-threshold", "1").Err())
	endless := make(chan error, 1)
	loop := server.Client(t)
	go func() { endless <- loop.Eval(context.Background(), "while true do end", nil).Err() }()
	refuses(t, s, "busy")
	require.Eventually(t, func() bool { return admin.ScriptKill(context.Background()).Err() == nil }, soon, 5*time.Millisecond)
	require.Error(t, <-endless)
	apply(t, s, check(t)...)

	locked := redistest.Start(t)
	require.NoError(t, locked.Client(t).ConfigSet(t.Context(), "requirepass", "secret").Err())
	refuses(t, openReal(t, locked), "auth")
	o, err := redisstore.Options(fmt.Sprintf("redis://:%s@%s", "wrong", locked.Addr()))
	require.NoError(t, err)
	wrong := redis.NewClient(o)
	t.Cleanup(func() { _ = wrong.Close() })
	refuses(t, openOn(t, wrong), "auth")
}

// TestReleasesSurviveAFullServer takes memory away while a lease is held: giving it back frees memory.
func TestReleasesSurviveAFullServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin, s := server.Client(t), openReal(t, server)
	held, ok := take(t, s, lease(t, "a", 1, time.Minute))
	require.True(t, ok)
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	release(t, s, held)
	holds(t, admin, leasesKey("a"), 0)
}
