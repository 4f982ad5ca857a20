// Package seawalltest helps to test what uses Seawall, without Redis and without sleeping: an app, a store
// that wraps another, a layer. It has three things:
//
//   - [Store] answers as it is told: it admits, denies, fails, hangs or panics, and knows who holds a lease.
//   - [Clock] moves when it is told. It is the clock of a memstore, which does the real arithmetic.
//   - [Recorder] is an observer that remembers what was decided, so that a test can ask.
//
// The zero value of each is ready to use, and all are safe for concurrent use. None starts a goroutine.
//
//	var store seawalltest.Store
//	var seen seawalltest.Recorder
//	stack, err := seawall.New(seawall.Config{Store: &store, Observer: &seen}, layers...)
//
//	store.Deny("ratelimit:api", 3*time.Second)         // what does my app answer to a refusal?
//	store.Fail(errors.New("no route to host"))         // … in an outage?
//	store.Delay(time.Hour)                             // … when the store hangs?
//
//	seen.Count("ratelimit:api", seawall.Denied)        // how often was it refused?
//	store.Held()                                       // what was not given back?
//
// # Names
//
// What is scripted or asked for has a name, as in [seawall.Fixed]: a layer's, such as "ratelimit", or
// "layer:policy", such as "ratelimit:api". One that no layer or policy can have is a mistake in the test, and
// panics.
//
// # Time
//
// A memstore on a Clock renews no lease by itself: call its Renew before a lease's TTL has passed, or the
// slot becomes free. A Store's Delay is real time, or that of a testing/synctest bubble.
//
// # Modes
//
// There is nothing for modes here, since [seawall.Fixed] does it. State is the store's, so a test of a flag
// that is switched builds a second Stack with other modes on the same store.
package seawalltest
