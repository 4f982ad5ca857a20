package seawall

import "context"

// Store evaluates checks and holds leases. Implementations are safe for concurrent use.
type Store interface {
	// Apply evaluates the checks of one request in one atomic step and appends a Result for each to dst.
	// Enforced checks commit if and only if every enforced check admits; advisory ones if and only if every
	// check does; those with an Op other than Spend play no part in that. It sets the ID of checks that have
	// none and need one.
	//
	// A denial is a Result. An error means that nothing could be decided, in particular that ctx was done
	// first. Such a call may have taken leases all the same: they count as held until they are released, by
	// the ids that the checks then have. A store that wraps another may return results of its own together
	// with the other's error, and one that asks several those that were answered; see [Answered]. checks is not
	// used after Apply has returned.
	Apply(ctx context.Context, dst []Result, checks []Check) ([]Result, error)
	// Release gives leases back. It is idempotent by id, and a lease that cannot be given back now is given
	// back later or expires. It waits, until ctx is done, only if one of the leases took a last slot;
	// otherwise it returns at once and the release follows within milliseconds. leases is not used after Release has
	// returned.
	Release(ctx context.Context, leases ...Lease) error
}

// Lease is a slot that a committed check of a Holder took.
type Lease struct {
	Limit *Limit
	Rule  Holder
	Key   Key
	Cost  int64 // of the check
	ID    uint64
	// Last: see Result.
	Last bool
}

// Preparer is implemented by stores whose first decision is slower than the next ones.
type Preparer interface {
	// Prepare has the store get ready, in the background, for requests with checks like the given ones.
	Prepare(checks []Check)
}

// Prober is implemented by stores that can be tried out.
type Prober interface {
	// Probe has the store do what a decision takes, for nobody, and returns why it could not. It returns when
	// ctx is done at the latest.
	Probe(ctx context.Context) error
}

// Sharded is a store whose state lies at several places, each of which may fail by itself.
type Sharded interface {
	Store
	// Shard returns the place that has the state of a key at present. The same place is the same, comparable, value.
	Shard(key Key) Shard
}

// Shard is one place of a Sharded store. It is asked about keys that it has, and gives back leases that the Sharded one knows.
// One that has a method Where() string is called so in logs and metrics; one that has Ended() bool is forgotten once that is true.
type Shard interface {
	Store
	Prober
}

// Claimer is implemented by stores that can be told what is held although they were not asked.
type Claimer interface {
	// Claim counts leases as held, with ids that no check of this store has or will have got from it: it takes
	// them, beyond the limit if need be, as soon as it can, unless it could not give them back. It returns at once.
	Claim(leases ...Lease)
}

// Member is implemented by stores that know how many instances share them.
type Member interface {
	// Join announces this instance's workers, at least 1, and what it holds of the fleet, and keeps doing
	// so until the store is closed. A second call replaces the first.
	Join(workers int64)
	// Fleet returns what was last seen of all instances.
	Fleet() Fleet
}

// Fleet is a view of all live instances that share a store.
type Fleet struct {
	// Instances is how many instances are alive, this one included.
	Instances int64
	// Index is this instance's place among them, counted from 0: the others have other ones.
	Index int64
	// Capacity is the sum of their workers, or more for a while after many instances were lost at once; 0 if none
	// announced any.
	Capacity int64
	// Used is the sum of the leases on FleetKey that they hold.
	Used int64
	// Announced tells whether this instance has been seen by the store.
	Announced bool
}
