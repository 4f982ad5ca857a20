// Package workershed sheds load when this process is drowning: the less important a request, the earlier it
// goes. It decides from memory, so its answer costs no hop, and a refusal spends nothing anywhere else.
//
// # Contract
//
// A [Shedder] is a [seawall.Local] layer. Utilization u is the number of requests in flight divided by
// Workers, which is what the process can serve at once. From u a controller derives a level between 0 and
// 1, and the level cuts the tiers from the bottom:
//
//	level      0 ··· 1/3   1/3 ··· 2/3   2/3 ··· 1
//	test mode   0 → all        all          all      is shed
//	read          –          0 → all        all      is shed
//	write         –             –         0 → all    is shed
//	critical      –             –            –
//
// The share of tier i from the bottom that is shed is clamp(3·level − i, 0, 1). A request is refused with
// [seawall.CauseCapacity] and a RetryAfter between 1 s and 10 s that grows with the level.
//
// The level follows the overload and is slow on purpose. What is faster than it meets the hard cap: with
// HardCap × Workers requests in flight, everything but critical traffic is refused at once, at any level.
//
// # The dead zone
//
//	u   0                Low       High       1                 HardCap
//	    ├─────────────────┼─────────┼─────────┼────────────────────┤
//	    │ level falls     │  rests  │ rises   │ rises full speed   │ refuse all but critical
//	    │ a = u/Low − 1   │  a = 0  │ a = (u−High)/(1−High), ≤ 1   │
//
// A single threshold would flap: shedding lowers u below it, which ends the shedding, which raises u. Between
// Low and High the level rests instead, and shedding that brings u there is kept as it is.
//
// Per second the level moves by a ÷ RampUp when a > 0, and by a ÷ RampDown when a < 0. Three things surround
// that:
//
//   - Dwell. At level 0 the level does not rise before u has been above High for Dwell. That clock rests in
//     the dead zone, since in-flight counts are noisy, and starts again from zero once u is below Low. While
//     something is being shed there is no dwell.
//   - Release floor. Just below Low, a is nearly 0 and the last callers would be shed for hours after the
//     overload has ended. Below Low the level falls at no less than ReleaseFloor of full speed.
//   - Stalls. A step counts for at most four sampler intervals: a process that was stopped for a minute has
//     seen one sample, not a minute of overload.
//
// The formula for a and the idea of a level that ramps through a dead zone are those of the worker
// utilization load shedder in Stripe's article "Scaling your API with rate limiters" (Paul Tarjan, 2017) and
// the code published with it. There, the level moves only when a request arrives and starts below zero, so
// its dwell is longer under mild overload; here a sampler moves it, and the dwell is plain time.
//
// # Cohorts
//
// Within a tier, callers are shed rather than requests: one in ten callers refused can retry later, all
// callers refused one time in ten all fail at something. A caller's place on a circle is its key's hash,
// and callers placed in the first p of the circle are out. Every Rotate the circle turns by the golden
// ratio: while a tier's share stays below 0.38 nobody is out twice in a row, and in the long run
// everybody is out for the same share of time. A caller that is out for writes is out for reads too.
//
// Epochs are counted on the monotonic clock from the shedder's start, so a caller is in or out per process;
// processes started at different times disagree about who is out, and the wall clock may be set without
// effect. Requests with the zero [seawall.Key] are nobody's and have no cohort: they are spread evenly, and
// a share p of the requests is refused.
//
// # Undecided requests
//
// Enter comes before the other layers, which may refuse the request yet, Begin behind them. Of a caller's requests
// between the two only one has a reservation, and counts as in flight: whoever asks over and over and is refused by its
// rate limit must not take the workers from others while it is told so. The others are admitted at Begin if there is room.
// Callers whose keys fall on the same of 1024 places count as one; so do all of nobody's requests.
//
// # Log-only
//
// A shadow that ran on the real utilization would wind up: nothing is shed, so u stays high, so the level
// goes to 1, and the shadow tells nothing about enforcing. The controller and the hard cap therefore
// count only what would be in flight had every refusal been enforced, those of other layers too. A request that is
// refused in log-only mode, here or by another layer while this one is in log-only mode, goes on and is part of
// [Shedder.InFlight], but not of [Shedder.Utilization]. Requests in mode off are not counted at all.
//
// # Invariants
//
//   - A critical request is never refused.
//   - A non-critical request never brings the count beyond the hard cap; the check and the count are one step.
//   - Undecided requests of one caller take one worker from others, and no more than the hard cap for themselves.
//   - What Enter and Begin counted, Leave uncounts; the counts never go below zero.
//   - The level is between 0 and 1. A utilization that is NaN, infinite or negative leaves it as it is.
//   - Log-only decides exactly as enforce would on the same requests.
//   - Enter, Begin and Leave take no lock, read no clock and allocate nothing.
//   - A closed shedder sheds nothing by level.
//
// Requests that live long, such as WebSockets, must not enter: they would occupy workers that they do not use.
package workershed
