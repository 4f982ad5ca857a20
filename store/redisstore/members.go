package redisstore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

//go:embed members.lua
var membersLua string

const (
	beatEvery = time.Second
	memberTTL = 10 * time.Second
)

// members is this instance's view of the fleet, refreshed by every heartbeat. Its capacity is what Redis publishes, save for
// two heartbeats after a loss of data.
type members struct {
	script *redis.Script
	every  time.Duration
	ttl    time.Duration
	joined chan struct{} // wakes the heartbeat

	mu       sync.Mutex
	workers  int64
	fleet    seawall.Fleet
	lost     bool      // the last heartbeat found this instance unknown
	distrust time.Time // until when Redis may know less of the fleet than this instance
}

func (m *members) init() {
	m.script = redis.NewScript(rightsLua + membersLua)
	m.every, m.ttl = beatEvery, memberTTL
	m.joined = make(chan struct{}, 1)
	m.fleet.Instances = 1
}

func (m *members) capacity() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fleet.Capacity
}

// Join implements seawall.Member.
func (s *Store) Join(workers int64) {
	m := &s.members
	m.mu.Lock()
	m.workers = workers
	m.fleet.Announced = false
	m.fleet.Capacity = max(m.fleet.Capacity, workers)
	m.mu.Unlock()
	select {
	case m.joined <- struct{}{}:
	default:
	}
}

// Fleet implements seawall.Member.
func (s *Store) Fleet() seawall.Fleet {
	s.members.mu.Lock()
	defer s.members.mu.Unlock()
	return s.members.fleet
}

// heartbeats announces the instance until the store is closed.
func (s *Store) heartbeats() {
	tick := time.NewTicker(s.members.every)
	defer tick.Stop()
	failing := false
	for {
		err := s.beat()
		if err != nil && !failing {
			s.log.Warn("seawall: this instance cannot announce itself to Redis; the fleet's size stays as it was, and it tries again every second",
				"error", err)
		}
		if err == nil && failing {
			s.log.Info("seawall: this instance has announced itself to Redis again", "instances", s.Fleet().Instances)
		}
		failing = err != nil
		if s.beaten != nil {
			s.beaten()
		}
		select {
		case <-tick.C:
		case <-s.members.joined:
		case <-s.stop:
			return
		}
	}
}

func (s *Store) beat() error {
	m := &s.members
	m.mu.Lock()
	workers, seen := m.workers, int64(0)
	if m.fleet.Announced {
		seen = m.fleet.Capacity
	}
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	s.prepareBriefly(ctx)
	if !s.clock.known() {
		if err := s.ping(ctx); err != nil {
			return classify(err)
		}
	}
	fleet, known, err := s.announceToMaster(ctx, workers, seen)
	s.rights.learn(err)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.workers != workers { // joined meanwhile: the next beat follows at once
		return nil
	}
	now := s.now()
	if m.fleet.Announced && !known && !m.lost { // Redis has lost its data: the others have not said yet that they are there
		m.distrust = now.Add(2 * m.every)
	}
	m.lost = !known
	if now.Before(m.distrust) {
		fleet.Capacity = max(fleet.Capacity, m.fleet.Capacity)
		if fleet.Instances < m.fleet.Instances { // whose shares of a limit are as they were
			fleet.Instances, fleet.Index = m.fleet.Instances, m.fleet.Index
		}
	}
	fleet.Announced = true
	m.fleet = fleet
	return nil
}

// announceToMaster announces this instance. If it is told that the server only reads, as one that was the master before a
// failover, it asks over each further connection that was idle: go-redis closes those that are told so, but others may
// lead to the same server, and who has few requests, or is only refused, which writes nothing, would keep them.
func (s *Store) announceToMaster(ctx context.Context, workers, seen int64) (seawall.Fleet, bool, error) {
	for idle := s.client.PoolStats().IdleConns; ; idle-- {
		fleet, known, err := s.announce(ctx, workers, s.fleetHeld(), seen, true)
		failed, ok := errors.AsType[*callError](err)
		if !ok || failed.reason != "readonly" || idle == 0 {
			return fleet, known, err
		}
	}
}

// announce runs the script of a heartbeat; seen is the capacity that this instance knows, 0 if none.
func (s *Store) announce(ctx context.Context, workers, used, seen int64, here bool) (_ seawall.Fleet, known bool, err error) {
	defer caught(&err)
	keys := []string{s.fleetName("members"), s.fleetName("capacity"), s.fleetName("floors"), s.fleetName("secret")}
	sent := s.now()
	answer, err := s.members.script.Run(ctx, s.client, keys, s.id, workers, used,
		s.members.ttl.Milliseconds(), here, s.beatDeadline(sent), seen, s.secret.text()).Slice()
	if err != nil {
		return seawall.Fleet{}, false, classify(err)
	}
	reply, secret, err := readBeat(answer)
	if err != nil {
		return seawall.Fleet{}, false, err
	}
	s.heard(sent, nanos(reply[5:]))
	if reply[0] == 0 && here {
		return seawall.Fleet{}, false, &callError{reason: "timeout", err: errors.New("the heartbeat ran too late"), unsent: true}
	}
	s.secret.adopt(secret)
	return seawall.Fleet{Instances: reply[0], Index: reply[4], Capacity: reply[1], Used: reply[2]}, reply[3] == 1, nil
}

// readBeat reads the reply of a heartbeat: seven numbers and the fleet's secret.
func readBeat(reply []any) (numbers []int64, secret seawall.Secret, err error) {
	if len(reply) != 8 {
		return nil, secret, fmt.Errorf("redisstore: a heartbeat's reply has %d values; want 8", len(reply))
	}
	for _, v := range reply[:7] {
		n, ok := v.(int64)
		if !ok {
			return nil, secret, fmt.Errorf("redisstore: a heartbeat's reply has a %T; want 7 numbers and a secret", v)
		}
		numbers = append(numbers, n)
	}
	if secret, err = parseSecret(reply[7]); err != nil {
		return nil, secret, err
	}
	return numbers, secret, nil
}

// beatDeadline is until when a heartbeat may run: one that is held up for longer would bring back an instance that
// has left.
func (s *Store) beatDeadline(sent time.Time) int64 {
	if s.stepped { // the script's clock is Redis' own
		return math.MaxInt64
	}
	return s.clock.deadline(sent, batchTimeout)
}

// heard learns Redis' clock from its answer to a question that was sent then.
func (s *Store) heard(sent time.Time, at int64) {
	if !s.stepped {
		s.clock.learn(sent, s.now(), at)
	}
}

// leave takes the instance out of the fleet.
func (s *Store) leave(ctx context.Context) error {
	if _, _, err := s.announce(ctx, 0, 0, 0, false); err != nil {
		return fmt.Errorf("redisstore: leaving the fleet: %w", err)
	}
	return nil
}
