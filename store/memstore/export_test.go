package memstore

import (
	"time"

	"github.com/seawall-go/seawall"
)

// Sampled is how many states are looked at to find one to forget.
const Sampled = sampled

// Shards is how many shards there are.
const Shards = shards

// SpareSlots is how many states of slots all shards together keep without looking for idle ones.
const SpareSlots = shards * spareSlots

// Counts are how many states are kept.
type Counts struct{ Slots, Refused, Open int }

// Counts returns what the store believes to keep.
func (s *Store) Counts() Counts {
	return Counts{int(s.totals[slots].Load()), int(s.totals[refused].Load()), int(s.totals[open].Load())}
}

// Recount counts what is kept, by what the states themselves say. It panics if a state of slots is not where its shard looks.
func (s *Store) Recount() (c Counts) {
	for i := range s.shards {
		sh := &s.shards[i]
		for j := range sh.table.Load().slots {
			sl := &sh.table.Load().slots[j]
			if !sl.kept() {
				continue
			}
			cell := sl.cell.Load()
			switch _, holds := cell.rule.(seawall.Holder); {
			case holds && sh.holds[cell.at] != cell:
				panic("a state of slots is lost")
			case holds:
				c.Slots++
			case sl.fate() == refused:
				c.Refused++
			default:
				c.Open++
			}
		}
	}
	return c
}

// States returns how many states are kept.
func (s *Store) States() int {
	c := s.Counts()
	return c.Slots + c.Refused + c.Open
}

// ShardOf returns the number of a key's shard.
func (s *Store) ShardOf(k seawall.Key) uint64 {
	shard, _ := locate(s.seed, k, &seawall.Limit{})
	return shard
}

// MaxKeys returns the bound of open states.
func (s *Store) MaxKeys() int { return int(s.maxKeys) }

// SetMaxRefused changes the bound of refused states.
func (s *Store) SetMaxRefused(n int64) { s.maxRefused = n }

// StandStill ends what the store does in the background, and has so much time pass.
func (s *Store) StandStill(d time.Duration) {
	close(s.stop)
	<-s.done
	s.stop = make(chan struct{}) // that Close closes
	s.epoch += int64(d)
}
