package memstore

import (
	"hash/maphash"

	"github.com/seawall-go/seawall"
)

// name is what the state of one key of one limit is kept under: 128 bits of a hash whose seeds nobody knows.
// It takes less room than the texts, and keeps none of them. Among 10^6 names two meet in one of 10^26 stores,
// and nobody can choose a key that meets another's.
type name [2]uint64

// seeds are those of one store's names.
type seeds struct{ key, limit [2]maphash.Seed }

func newSeeds() seeds {
	return seeds{
		key:   [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		limit: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

// locate returns where a state is kept. The shard is the same for all limits of a key. It has nothing to do
// with Key.Hash, which everybody can compute, or a caller could choose with whom to share it.
func (s *seeds) locate(k seawall.Key, l *seawall.Limit) (shard uint64, n name) {
	for i := range n {
		n[i] = maphash.String(s.key[i], k.String())
	}
	shard = n[0] % shards
	for i := range n {
		n[i] ^= maphash.String(s.limit[i], l.Name())
	}
	return shard, n
}

// state is what a store keeps under a name; 48 bytes, and what the rule keeps in More.
type state struct {
	seawall.State
	rule    seawall.Rule // of the last commit; a state that is not kept yet has none
	spent   uint32       // its shard's number of that commit
	refused bool         // it is in that pool
}

func (st *state) idle(now int64) bool { return st.rule.Idle(&st.State, now) }
