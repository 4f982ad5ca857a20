// Package concurrency limits how many requests a caller may have in flight: the layer "concurrency".
//
// A request takes a lease on one of its caller's slots and gives it back when its handler has returned. The
// store renews leases that live long; a lease whose instance died goes away by itself, one TTL after its
// last renewal. A lease is its instance's id and a number, so giving it back twice gives it back once, and
// nobody gives back another's.
package concurrency
