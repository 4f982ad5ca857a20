// Package memstore is a seawall.Store in this process: the embedded default, and a fleet of one.
//
// It runs the Go halves of the rules under locks, one per shard of keys; a request's checks hold all the
// locks that they need, taken in order, so they are one atomic step. Idle state is dropped by a sweep.
//
// However many callers come, and whatever keys they choose, memory is bounded: see [Config]. A shard has its
// states in three pools. Slots in flight stay. Rates that have refused stay until they are idle or admit, for
// to forget those would admit whom they refuse. All other rates make room for each other: who comes when there
// is none takes the place of the one, of a few looked at, that was not spent from for longest.
package memstore
