package stepped

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

//go:embed stand_in.lua
var standIn string

// Clock is the clock of the scripts that go through its client. One request at a time should be under way.
type Clock struct {
	client  *redis.Client
	name    string // of its hash
	standIn string

	mu     sync.Mutex
	now    int64             // µs since the epoch
	obeys  bool              // keys expire
	told   bool              // Redis knows both
	hashes map[string]string // of the scripts that Redis has been given, by those that the store knows them by

	renewing map[string]bool // the scripts that renew leases, by their texts and hashes as Redis is given them
	renewals Renewals
	renewed  chan struct{} // something was
}

// Renewals are how many leases have been renewed in all, and how many of them Redis had lost.
type Renewals struct{ Leases, Lost int64 }

// New returns a clock that stands still at the epoch, and lets no key expire.
func New(t testing.TB, server *redistest.Server) *Clock {
	t.Helper()
	o, err := redisstore.Options(server.URL() + "?read_timeout=10s&write_timeout=10s&pool_timeout=10s")
	if err != nil {
		t.Fatalf("stepped: %v", err)
	}
	name := "clock-" + strings.ToLower(rand.Text())
	c := &Clock{
		client:  redis.NewClient(o),
		name:    name,
		standIn: strings.ReplaceAll(standIn, "CLOCK", name),
		hashes:  map[string]string{},

		renewing: map[string]bool{},
		renewed:  make(chan struct{}, 1),
	}
	t.Cleanup(func() { _ = c.client.Close() })
	c.client.AddHook(hook{c})
	return c
}

// Client returns the client to make a store with.
func (c *Clock) Client() *redis.Client { return c.client }

// Hook returns what makes the scripts of another client follow the clock, too.
func (c *Clock) Hook() redis.Hook { return hook{c} }

// Set sets the clock.
func (c *Clock) Set(micros int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = c.told && c.now == micros
	c.now = micros
}

// Now returns what the clock was set to.
func (c *Clock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Expire lets keys expire from now on when the clock says so, or does not.
func (c *Clock) Expire(obeys bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.obeys, c.told = obeys, false
}

// Left returns in how long the key expires by the clock, and whether it is there and will.
func (c *Clock) Left(ctx context.Context, key string) (left time.Duration, ok bool, err error) {
	there, err := c.client.Exists(ctx, key).Result()
	if err != nil || there == 0 {
		return 0, false, err
	}
	at, err := c.client.HGet(ctx, c.name+":due", key).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMilli(at).Sub(time.UnixMicro(c.now)), err == nil, err
}

// step returns a command that tells Redis the time, unless it knows.
func (c *Clock) step(ctx context.Context) redis.Cmder {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told {
		return nil
	}
	c.told = true
	obeys := "0"
	if c.obeys {
		obeys = "1"
	}
	sec, usec := c.now/1e6, c.now%1e6
	return redis.NewIntCmd(ctx, "hset", c.name, "sec", strconv.FormatInt(sec, 10), "usec", strconv.FormatInt(usec, 10), "obeys", obeys)
}

// Lose has Redis lose all data and scripts.
func (c *Clock) Lose(ctx context.Context) error {
	if err := c.client.FlushAll(ctx).Err(); err != nil {
		return err
	}
	c.mu.Lock()
	c.told = false
	c.mu.Unlock()
	return c.client.ScriptFlush(ctx).Err()
}

// Renewals returns what has been renewed so far.
func (c *Clock) Renewals() Renewals {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.renewals
}

// Await waits until so many more leases have been renewed than before, and returns how many of them Redis had lost.
func (c *Clock) Await(ctx context.Context, before Renewals, leases int64) (lost int64, err error) {
	for {
		now := c.Renewals()
		switch more := now.Leases - before.Leases; {
		case more == leases:
			return now.Lost - before.Lost, nil
		case more > leases:
			return 0, fmt.Errorf("stepped: %d leases were renewed; want %d", more, leases)
		}
		select {
		case <-c.renewed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// ran counts what a script has renewed, if that is what it did.
func (c *Clock) ran(cmd redis.Cmder) {
	args := cmd.Args()
	script, _ := args[1].(string)
	keys, _ := args[2].(int)
	reply, ok := cmd.(*redis.Cmd)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok || !c.renewing[script] {
		return
	}
	lost, ok := reply.Val().(int64) // a time, if it ran too late
	if reply.Err() != nil || !ok {
		return
	}
	c.renewals.Leases += int64(keys)
	c.renewals.Lost += lost
	select {
	case c.renewed <- struct{}{}:
	default:
	}
}
