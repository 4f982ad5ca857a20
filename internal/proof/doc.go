// Package proof holds no code but tests, of what Seawall claims about its rate limit rules and its leases.
//
// Of rates:
//
//   - that both stores answer as the model explains, field by field, over the whole range of rates, limits and
//     calendars, also where the clock stalls or steps back, limits change and idle state is forgotten;
//   - the invariants I1, I2, I3 and I5 of the package seawall, and that a refund gives back no more than its spend;
//   - I1 again with four processes on one Redis and its own clock;
//   - that concurrent histories are linearizable, also where calls are given up, and that such a test finds
//     stores that are wrong;
//   - how far the sliding counter's estimate is from the truth (it prints that).
//
// Of leases, which slots in flight are:
//
//   - that both stores answer as the model explains, field by field, one to three instances on one Redis among them,
//     where leases are released, also twice or by others, renewed, and claimed, instances crash, data is lost, clocks step
//     back, caps, weights and TTLs change, and a request also asks a bucket;
//   - that what is in flight with an enforced grant never exceeds the cap. After a loss of data, a reset, a step of the
//     clock back, another cap or TTL, a claim or a lease that lapsed, this is left: whoever is granted a slot fits beside
//     all leases that have been taken or renewed since;
//   - that a released lease never comes back, and in the end nothing is left, not a key on Redis;
//   - that a lease of the dead ends one TTL after it was taken or renewed and not a microsecond beside it, and that a clock
//     which steps back locks nobody out for longer than a TTL;
//   - that concurrent histories on two instances are linearizable, where a call that was given up may hold what it asked
//     for, beyond the cap, until that is given back; and that such a test finds stores that are wrong;
//   - with four processes, ten instances and a Redis with its own clock, that no more is in use than the cap by the count
//     of a witness, and that in the end all is free.
//
// Of dark launches, with all layers in one stack or one by one, with a cache of denials and without:
//
//   - that all layers log-only would refuse what all layers enforced refuse, request by request, with the same numbers, and
//     that so does one layer or one policy alone; a worker shedder, too, counts what would be in flight then;
//   - that in any mixture of modes, also if they change, log-only checks never change what enforced ones decide;
//   - that outcomes and numbers are those of a reference that knows nothing of the engine, and counts obey the rule of one
//     refusal each;
//   - that in the end nothing is held; and that such tests find stores, releases and caches that are wrong.
//
// Not proved here: lines of waiters, the fleet's leases, leases of one key with different TTLs on a Redis where keys
// expire, and when an instance renews, which its own clock says and not the stepped one.
//
// It is a module of its own, so that the tools it needs are no concern of Seawall's users.
//
// By itself a run takes about a minute and draws the same cases every time. With SEAWALL_PROOF=long in the
// environment it takes some twenty-five minutes and draws others; a failure then prints the seed, which
// -rapid.seed repeats:
//
//	SEAWALL_PROOF=long SEAWALL_REQUIRE_REDIS=1 go test -timeout 60m ./...
package proof
