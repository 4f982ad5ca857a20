// Package store is the room of the stores: memstore in process, redisstore on Redis, and storetest, the
// suite that every store must pass. What wraps any store lives in this package.
//
// [Failover] stands in front of a shared store. What an instance knows by itself, it need not ask for: how
// many slots its own requests hold. So when the shared store does not answer in time, slots are decided by
// this instance's share of them, and nobody gets past a cap because Redis was slow for a moment. Rates are
// let pass, except those that fail closed.
package store
