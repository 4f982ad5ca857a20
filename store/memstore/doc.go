// Package memstore is a seawall.Store in this process: the embedded default, and a fleet of one.
//
// It runs the Go halves of the rules under locks, one per shard of keys; a request's checks hold all the
// locks that they need, taken in order, so they are one atomic step. Idle state is dropped by a sweep.
package memstore
