// Package store is the room of the stores: memstore in process, redisstore on Redis, split for several of them, and
// storetest, the suite that every store must pass. What wraps any store lives in this package.
//
// # Failover
//
// [Failover] stands in front of a shared store, and answers for it when that fails or is too late: each check by the
// failure policy of its limit.
//
//   - FailLocal, the default, decides by this instance's share. A rate is divided by the number of instances last seen
//     ([FailoverConfig.ExpectedInstances] before any was), and starts from what was last seen to remain; a bucket keeps
//     room for one token at least, so that with fewer tokens than instances the fleet's burst is one each. A request
//     that the share would refuse waits for the shared store as long as one that meets a limit that fails closed. Slots are
//     counted as they are really held by this instance, whoever granted them; of the fleet's, an instance has its own
//     workers. A limit smaller than the fleet has shares for as many instances as it allows, others for each caller.
//   - FailOpen admits.
//   - FailClosed refuses, and nothing else of the request commits.
//
// While the shared store answers, slots are counted in both, and what remains of 100,000 callers' rates is noted. Slots
// that the local one grants are made known to the shared one when that is back; tokens are not.
//
// A circuit breaker ends the asking: ten calls in a row have failed, over 50 ms at least. From then on a decision
// touches no socket, and a probe, which is a script as decisions are, looks twice a second, jittered. Four of five answers
// within the wait of a decision close the breaker; requests never do. One that opened again and again within a minute
// wants more. Requests that meet a limit that fails closed wait longer, and have a breaker of their own, so that a slow
// store is no outage of logins. An error that is a rule's fault, or one key's, opens none.
//
// Of a [seawall.Sharded] store each shard has breakers and probes of its own, and is given up by itself: the limits of
// callers whose state lies elsewhere are decided there. See the package split for requests that have both.
//
// # DenyCache
//
// [DenyCache] answers what is known to be exhausted without asking, until it is not, a second at most.
package store
