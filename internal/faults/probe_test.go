package faults

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall/internal/redistest"
)

// probeTimeout is how long a probe waits.
const probeTimeout = 100 * time.Millisecond

// dial returns a plain client of one connection that neither retries nor waits for long.
func dial(t testing.TB, url string) *redis.Client { return setup{url: url}.dial(t) }

func (s setup) dial(t testing.TB) *redis.Client { return s.clientOf(t, probeTimeout) }

// admin returns a client that keeps its one connection, and waits.
func admin(t testing.TB, server *redistest.Server) *redis.Client {
	return setup{url: server.URL()}.clientOf(t, soon)
}

func (s setup) clientOf(t testing.TB, timeout time.Duration) *redis.Client {
	t.Helper()
	c, err := s.plainClient(timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ofSentinels tells whether Sentinels are asked at the URL, as ParseFailoverURL reads it.
func ofSentinels(url string) bool { return strings.Contains(url, "master_name=") }

func (s setup) plainClient(timeout time.Duration) (*redis.Client, error) {
	const dialTimeout = 250 * time.Millisecond
	if ofSentinels(s.url) {
		o, err := redis.ParseFailoverURL(s.url)
		if err != nil {
			return nil, err
		}
		o.PoolSize, o.PipelinePoolSize, o.MaxRetries, o.DialerRetries = 1, -1, -1, 1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = dialTimeout, timeout, timeout
		o.ContextTimeoutEnabled, o.DisableIdentity = true, true
		return redis.NewFailoverClient(o), nil
	}
	o, err := redis.ParseURL(s.url)
	if err != nil {
		return nil, err
	}
	s.trusting(o)
	o.PoolSize, o.MaxRetries, o.DialerRetries = 1, -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = dialTimeout, timeout, timeout
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(o), nil
}

// do has Redis execute a command.
func do(t testing.TB, c *redis.Client, command ...any) {
	t.Helper()
	assert.NoError(t, c.Do(context.Background(), command...).Err(), "%v", command)
}

// probe asks Redis, on a new connection, what a limiter asks of it: a script that writes.
func probe(t testing.TB, url string) error { return setup{url: url}.probe(t) }

func (s setup) probe(t testing.TB) error {
	c := s.dial(t)
	defer func() { _ = c.Close() }()
	return c.Eval(context.Background(), "return redis.call('SET', KEYS[1], 'v', 'PX', 1000)", []string{"probe"}).Err()
}

// shows asserts that a new client of Redis is told the text.
func shows(t testing.TB, url, text string) {
	t.Helper()
	setup{url: url}.shows(t, text)
}

func (s setup) shows(t testing.TB, text string) {
	t.Helper()
	var err error
	for range 50 { // a fault may need a moment, and who is hung up on may not hear why
		if err = s.probe(t); err != nil && strings.Contains(err.Error(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	assert.ErrorContains(t, err, text, "the fault is there")
}
