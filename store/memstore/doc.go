// Package memstore is a seawall.Store in this process: the embedded default, and a fleet of one.
//
// It runs the Go halves of the rules. Keys are spread over shards, each a table of slots of half a cache line, in which a
// state of one word, as that of a token bucket, has all its place. Who decides about one such state takes no lock: it
// reads the word, steps, and swaps the word if nobody else has changed it meanwhile. All other requests hold the locks
// of all the shards that they need, taken in order, and the words of their states, so they are one atomic step. Idle state
// is dropped by a sweep. A decision allocates nothing, save for callers who come for the first time.
//
// However many callers come, and whatever keys they choose, memory is bounded: see [Config]. A state has one of three
// fates. Slots in flight stay. Rates that have refused stay until they are idle or admit, for
// to forget those would admit whom they refuse. All other rates make room for each other: who comes when there
// is none takes the place of the one, of a few looked at, that was not spent from for longest.
//
// Leases last as long as this process holds them: it renews them, and forgets none that is not released.
package memstore
