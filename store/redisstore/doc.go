// Package redisstore is a seawall.Store on Redis, shared by all instances of a service: [Store] on one server, or one behind
// Sentinel, and [Cluster] on a Redis Cluster.
//
// # One script a request, and one for many
//
// The checks of a request are one script call. Its text depends only on the shape of the request, the
// sequence of its rules' kinds and of what is asked of them, so every instance has the same text and SHA. Requests of one
// shape that are queued at the same time share a call: one after the other is decided in it as if it were alone, in the
// order in which they were queued. A rule's Script is Lua in sections, each introduced by a line:
//
//	--@same     the arguments of check and commit that depend on the rule alone, with spaces between them: requests
//	            that have the same ones share them in a call, by == (optional)
//	--@observes the numbers of the observation, at most four, with commas between them
//	--@check    reads; sets $ok and what is observed. Spends nothing.
//	--@mend     runs if the check refuses, and may repair what an odd clock left behind (optional)
//	--@commit   writes what the check admitted
//	--@gather   the same in a call for several requests, if it is done otherwise there (optional)
//	--@refund   takes a commit back; runs without the others      (Refunder only)
//	--@releases gives back leases of $key, as many as $1 stands for at the end of arguments (Holder only)
//	--@renew    makes the lease $1 last another $2 milliseconds   (Holder only)
//
// In the last one only the first two arguments of Rule.Args are known: a Holder's are lease and TTL.
//
// A check whose arguments were made for a time (Env.Now) that is not Redis' sets missed = true: then nothing
// is committed, and the store asks again with arguments for the time that Redis gave.
//
// Of two sections of one name the first counts. The script is the prelude, the check blocks of all rules,
// their mend blocks and the decision, and their commit blocks, unrolled, in a loop over the requests if they are several.
// In a section
//
//	$key       is the check's Redis key
//	$1, $2 …   are the arguments that Rule.Args gave
//	$capacity  is the capacity that heartbeats publish (see members.lua), as text, or no number
//	$name      is a local variable of this check, visible in its later sections
//	hi, lo     are Redis' clock in nanoseconds, as hi·10^15 + lo
//	ms         is the same in milliseconds, and tick is true in one call out of 64
//	live       is "(" and ms, as text: from where on scores of sorted sets lie in the future
//	sec, usec  are the same as Redis' TIME gives them
//	ttl, expires; counted, counts
//	           are variables that outlive the request, and are nil at the beginning of a call, and the latter two behind a
//	           Reset: what is known of the last TTL, or of the last key
//	into, members, lasts, add()
//	           are for gathering: members are scores and members that are added to the sorted set into, which lasts for so
//	           many milliseconds then, by add(), or behind the last request
//
// All checks of a request are evaluated before anything of it is committed. A section raises no error, whatever it finds: it
// would end the call, behind requests that have been committed and ahead of others. What Redis itself refuses at the first
// write of a call, out of memory or as a replica, it refuses for all its requests. A call is for 128 requests and 384 checks
// at most, which keep Redis for about a millisecond. A request has at most 50 checks.
//
// # Keys
//
// A key is <namespace>:{<caller>}:<layer>:<policy>, at most 128 bytes. The braces are the only ones. The fleet's
// are <namespace>:{fleet}:members, :capacity, :floors and :secret. With Config.Compact the keys of callers, and only they, are
// {<hash>}<letter>.
//
// # Waiting
//
// A few workers send the calls; what queues up meanwhile shares calls and a round trip, and what was released meanwhile
// goes out ahead of it. A call waits for its context, not for a socket: when the context is done it returns.
// If it was not sent yet, it never is; otherwise it is left to finish on its connection, which stays usable.
// Either way its leases count as held: until they are released, they are renewed, and taken as soon as Redis
// answers. The queue is bounded; what does not fit is refused at once.
//
// # What runs too late
//
// A Redis that was frozen executes what it was sent meanwhile, whoever still waits for it. So every call, renewal and
// heartbeat carries a deadline in Redis' time, and changes nothing behind it: when its caller has given up, or 50 to 100 ms
// later for requests that are served all the same. How far that clock is ahead is learnt from every answer that tells the time: probes, heartbeats, and
// scripts that ran too late. The answer that took least wins, for 10 s, unless they contradict each other; then a
// clock was set. Before anything is known every call is late, tells the time and is sent again, which costs one hop.
// A release has no deadline: it is right at any time.
//
// # What is no Redis
//
// The connections of a client from NewClient end when they hear what is no answer to a question of this package. And
// as long as Redis refuses releases no slots are taken on it, since they would not come back: a request that would take
// one fails, with all its checks.
//
// # Rights
//
// docs/redis.md has the commands and keys that a Redis user must be allowed, no more and no less; a test reads them there.
// A new command in a script has to be added.
//
// # Sentinel
//
// A client from NewSentinelClient asks Sentinels for the master whenever it dials, and hears from one of them of a failover;
// then connections to any other server are closed. Should that not be heard, the next heartbeat finds a former master
// read-only, and leaves no connection to it. Until there is another master, calls fail and whoever asks has to do without.
// Replication is asynchronous, so another master may not know of what was spent last, which may be spent again: a burst at
// most, and so may what is spent on two masters while the network is split.
//
// # Membership
//
// An instance announces itself every second in one hash, with its workers and what it holds of the fleet,
// and is gone when it has not for a TTL of 10 s, or at once when it is closed.
package redisstore
