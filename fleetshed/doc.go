// Package fleetshed keeps a share of the fleet free for critical requests: the layer "fleetshed".
//
// Every instance announces its workers to the store; the fleet's capacity is the sum over live instances, unless
// Config.Capacity fixes it. Ordinary requests of all instances together may hold at most
//
//	capacity − ceil(capacity × reserve)
//
// slots, in whole numbers. Critical requests are counted apart and never refused, so at least the reserve is
// left to them. A slot is a lease, as in the package concurrency: it comes back when the handler has
// returned, and by itself when its instance died.
//
// An instance decides against the capacity that it last saw; before a shared store refuses, it looks the
// capacity up, so an instance that just joined counts at once. When many instances go silent at once, the shared store
// halves the capacity once a TTL until it is the sum again, rather than have what may be a hiccup shed the traffic of
// a fleet that is well. Instances that leave in good order are taken out at once.
//
// Long-lived requests (seawall.Request.LongLived) are neither counted nor refused here.
package fleetshed
