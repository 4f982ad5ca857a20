// Package concurrency limits how many requests a caller may have in flight: the layer "concurrency". Without HTTP, a
// Limiter guards what bears few calls at a time; see Limiter.Acquire.
//
// A request takes a lease on its caller's slots and gives it back when its handler has returned. The
// store renews leases that live long; a lease whose instance died goes away by itself, one TTL after its
// last renewal. A lease is its instance's id and a number, so giving it back twice gives it back once, and
// nobody gives back another's. docs/leases.md shows all that can happen to one.
//
// # Invariants
//
// On every store, under any number of instances, while the store is up and keeps its data:
//
//   - The leases of a key never take more slots than its cap, of enforced requests, counting every one that has neither
//     been released nor has expired. What a process holds that stood still for longer than a TTL has expired.
//   - A lease that was released stays released, whatever was under way to renew it.
//   - A lease that is held is renewed before it expires, and taken again if the store lost it.
//   - A caller whose next request begins after its last answer has ended is never refused by a cap of one, unless the store
//     did not answer in time.
//   - A refusal takes nothing.
package concurrency
