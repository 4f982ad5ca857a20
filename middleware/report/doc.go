// Package report says who is, and who would be, refused by what: the list to go through before a limit that is
// dark-launched is enforced.
//
// A [Recorder] is a [seawall.Observer] that counts refusals, enforced or not, of every policy: by route and tier, and by
// caller. [Recorder.Report] is what it has seen so far, as Go values that are also JSON and, by [Report.WriteTable], a
// table; [Merge] makes one report of those of several instances, and [Recorder.Handler] serves one.
//
// # What is counted
//
// What the metrics count, too: a request at most once as refused and once as would be refused, by the first policy that
// meant so; where a policy of the same layer refuses it in earnest, only that. Refusals of limits that fail closed while the
// store is away are counted apart: no caller is to blame for them.
//
// # Top callers
//
// Callers are counted by the Space-Saving sketch (Metwally, Agrawal, El Abbadi 2005): however many there are, the memory
// is that of [Config.Callers] of them per policy. For every caller listed, the true count is at most Count and at least
// Count - Error; a caller who is not listed has at most UnlistedAtMost refusals, which of one instance is at most the
// policy's refusals divided by Config.Callers. Merged reports keep both promises, with errors that are the sums (Agarwal et
// al., Mergeable Summaries, 2012). While there are no more callers than places, all counts are exact.
//
// # How much would have been enough
//
// For every caller listed, Enough is the smallest burst, at the configured rate, that would have let all its requests
// through since its first refusal or since its limit has changed; of a fixed window its limit, of a concurrency policy
// without a queue its cap. For sliding windows it is zero: it would need the time of every request. It is computed from two
// numbers: what the store says that the caller has used, and what of the caller's requests was refused and therefore not
// used, but would still be owed to a greater limit. The refused part is taken to drain after the used part has.
//
// Requests that another limit refuses, too, are left out, since no greater limit here would help them, and so are those
// that were decided without the store. What a store.DenyCache has not asked, since it knew of a denial, is taken for
// admitted. Of fixed windows a cost that can never fit counts by itself only.
//
// Of one instance that sees all of a caller's requests it is exact, as far as its answers arrive in order. Of several, each
// sees a part of what is refused. Enough is at least what any one of them has seen; EnoughAtWorst adds up their worst
// moments, and lets each drain its share. It is an estimate, mostly too high, and may be too low if an instance goes without the
// caller for longer than what was used takes to drain.
//
// It is a burst at the present rate. Whoever asks faster than that in the long run, which MEAN/S beside it tells, needs
// another rate: the figure grows for as long as it goes on, and a table marks it.
//
// # Who may read it
//
// Callers appear by an id that tells nothing ([seawall.Secret.CallerID]) and, if the application gives one, by
// seawall.Request.Name. Reports are for those who run the service: mount the handler where only they can reach it.
package report
