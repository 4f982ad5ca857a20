package redisstore

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

// preparation is the scripts that Redis should know before the instance announces itself.
type preparation struct {
	mu      sync.Mutex
	scripts []*redis.Script
	warm    bool // connections have been used
}

// Prepare implements seawall.Preparer. The next heartbeat loads the scripts of such checks, so that the first
// request need not send them.
func (s *Store) Prepare(checks []seawall.Check) {
	counts := make([]int, len(checks))
	var scripts []*redis.Script
	for i := range checks {
		counts[i] = len(checks[i].Rule.Args(nil, s.env(), &checks[i]))
		if h, ok := checks[i].Rule.(seawall.Holder); ok {
			if release, err := s.shapes.batch(h, releasing); err == nil {
				scripts = append(scripts, release)
			}
		}
	}
	if shape, err := s.shapes.of(checks, counts); err == nil {
		scripts = append(scripts, redis.NewScript(shape.one.text))
		for _, several := range []func() script{shape.many, shape.alike} {
			if several != nil {
				scripts = append(scripts, redis.NewScript(several().text))
			}
		}
	}
	s.preparation.mu.Lock()
	defer s.preparation.mu.Unlock()
	s.preparation.scripts = append(s.preparation.scripts, scripts...)
}

// mostPreparing is how long a heartbeat prepares at most: on a cluster scripts are loaded on every server, also one that hangs and
// has nothing to do with the instance's announcing itself.
const mostPreparing = batchTimeout / 2

func (s *Store) prepareBriefly(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, mostPreparing)
	defer cancel()
	s.prepare(ctx)
}

// prepare loads what is to be prepared and uses every worker's connection once. What fails is left to the
// requests, and tried again with the next heartbeat.
func (s *Store) prepare(ctx context.Context) {
	p := &s.preparation
	p.mu.Lock()
	scripts, warm := p.scripts, p.warm
	p.scripts, p.warm = nil, true
	p.mu.Unlock()
	if !warm {
		s.warm(ctx)
	}
	for i, script := range scripts {
		if err := s.load(ctx, script); err != nil {
			p.mu.Lock()
			p.scripts, p.warm = append(p.scripts, scripts[i:]...), false
			p.mu.Unlock()
			return
		}
	}
}

// warm uses a connection for each of those who use one at a time, and the time best on one that is there. What
// fails is left to the requests.
func (s *Store) warm(ctx context.Context) {
	if s.ping(ctx) != nil {
		return
	}
	var all sync.WaitGroup
	for range workers + 2 { // and those of heartbeats and releases
		all.Go(func() { _ = s.ping(ctx) })
	}
	all.Wait()
	_ = s.ping(ctx)
}

// ping asks Redis for the time, and learns it.
func (s *Store) ping(ctx context.Context) (err error) {
	if s.cluster != nil { // whose masters have clocks of their own
		return s.Probe(ctx)
	}
	defer caught(&err)
	sent := s.now()
	at, err := s.client.Time(ctx).Result()
	if err == nil {
		s.heard(sent, at.UnixNano())
	}
	return err
}

func (s *Store) load(ctx context.Context, script *redis.Script) (err error) {
	defer caught(&err)
	return script.Load(ctx, s.client).Err()
}
