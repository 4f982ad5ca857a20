// Package report says who is, and who would be, refused by what: the list to go through before a limit that is
// dark-launched is enforced.
//
// A [Recorder] is a [seawall.Observer] that counts refusals, enforced or not, of every policy: by route and tier, and by
// caller. [Recorder.Report] is what it has seen so far, as Go values that are also JSON and, by [Report.WriteTable], a
// table; [Merge] makes one report of those of several instances, and [Recorder.Handler] serves one.
//
// # Top callers
//
// Callers are counted by the Space-Saving sketch (Metwally, Agrawal, El Abbadi 2005): however many there are, the memory
// is that of [Config.Callers] of them per policy. For every caller listed, the true count is at most Count and at least
// Count − Error; a caller who is not listed has at most UnlistedAtMost refusals, which is at most the policy's refusals
// divided by Config.Callers. Both hold for merged reports, too (Agarwal et al., Mergeable Summaries, 2012), whose errors are
// the sums. While there are no more callers than places, all counts are exact.
//
// # How much would have been enough
//
// For every caller listed, Enough is the smallest burst, at the configured rate, that would have let all its requests
// through since its first refusal; of a fixed window its limit, of a concurrency policy its cap. It is computed from two
// numbers: what the store says that the caller has used, and what of the caller's requests was refused and therefore not
// used, but would still be owed to a greater limit: it drains when what is used has drained. Requests that another limit
// refuses, too, are left out, since no greater limit here would help them.
//
// Of one instance that sees all of a caller's requests it is exact. Several instances each see a part: the sum of what
// each has seen refused is exact as long as every one of them sees the caller more often than what it has used takes to
// drain, and may be a little wrong otherwise. Sliding windows have no such number: it would need every request's time.
//
// # Who may read it
//
// Callers appear by an id that tells nothing ([seawall.Secret.CallerID]) and, if the application gives one, by
// seawall.Request.Name. Reports are for those who run the service: mount the handler where only they can reach it.
package report
