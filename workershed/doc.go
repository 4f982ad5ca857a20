// Package workershed sheds load when this process is drowning: the less important a request, the earlier it
// goes. It decides from memory, so its answer costs no hop, and a refusal spends nothing anywhere else.
//
// # Contract
//
// A [Shedder] is a [seawall.Local] layer. Its utilization is the number of requests in flight divided by Workers, which is what
// the process can serve at once. From that, averaged over Smoothing, and from further signals a controller derives a level between 0
// and 1: the share of the traffic below critical that is shed, from the bottom. With a traffic of 20 % test mode, 50 % reads and 30 %
// writes,
//
//	level      0 ··· 0.2   0.2 ··· 0.7   0.7 ··· 1
//	test mode   0 → all        all          all      is shed
//	read          –          0 → all        all      is shed
//	write         –             –         0 → all    is shed
//	critical      –             –            –
//
// A request is refused with [seawall.CauseCapacity] and a RetryAfter between 1 s and 10 s that grows with the level; package guard
// spreads what clients are told from that to twice as long.
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
// Per second the level moves by a ÷ RampUp when a > 0, and by a ÷ RampDown when a < 0. What surrounds that:
//
//   - Dwell. At level 0 the level does not rise before u has been above High for Dwell. That clock rests in
//     the dead zone, since in-flight counts are noisy, and starts again from zero once u is below Low. While
//     something is being shed there is no dwell.
//   - Release floor. Just below Low, a is nearly 0 and the last callers would be shed for hours after the
//     overload has ended. Below Low the level falls at no less than ReleaseFloor of full speed.
//   - Easing. A level that has turned twice in one overload hunts for the load that the service can take. From then on it
//     begins each rise and fall at an eighth of full speed, which doubles in a time.
//   - No windup. A level that has shed nobody, since all traffic is critical, goes to zero as soon as utilization is below Low: it
//     is not why there is less load, and would only refuse others for minutes.
//   - Stalls. A step counts for at most four sampler intervals: a process that was stopped for a minute has
//     seen one sample, not a minute of overload.
//
// The formula for a and the idea of a level that ramps through a dead zone are those of the worker
// utilization load shedder in Stripe's article "Scaling your API with rate limiters" (Paul Tarjan, 2017) and
// the code published with it. There, the level moves only when a request arrives and starts below zero, so
// its dwell is longer under mild overload; here a sampler moves it, and the dwell is plain time. The constants were chosen with
// package sim, by which others can be tried.
//
// # Signals
//
// Config.Signals are further measures of how busy the process is; package cgroup has CPU, throttling and memory of its control
// group. The largest of all counts. Each is read by a goroutine of its own. One that cannot be read, that hangs or that makes no
// sense is left out, which is logged once and seen in [Shedder.Signals]: it is never a reason to shed.
//
// Workers has no default, since what a process can serve at once depends on what it does. [Shedder.SuggestedWorkers] tells what was
// seen. With fewer than about eight, the hard cap is met by chance also where the load is half of what the process can take.
//
// # Whose turn it is
//
// Within a tier, callers are shed rather than requests: one in ten callers refused can retry later, all
// callers refused one time in ten all fail at something. Callers stand in 256 slots by their key's hash, and those in
// the first slots of a circle are out, as many as make up the share of the traffic that is to be shed: a slot counts as many
// requests as it begins per second. The circle turns steadily, once in Rotate. So if a share p of a tier's slots is out, a caller is
// out for p × Rotate and then in for the rest, and never out for longer than Rotate as long as some of the tier is in.
//
// Callers change sides when the level moves, when it is their turn, and when the traffic has shifted by more than two percent. A slot
// that has 5 % of the traffic by itself is shed in part, by requests: in or out it would miss the level, and have those beside it
// out nearly always. Where nobody is known, as at a start, all slots count the same. A load that comes and goes as often as the circle
// turns meets the same callers each time: set Rotate to something else then.
//
// Turns are counted on the monotonic clock from the shedder's start, so a caller is in or out per process. Requests with the zero
// [seawall.Key] are nobody's and are spread evenly over all slots.
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
// That is not enough where requests wait for workers: those that are refused in log-only mode make the others wait, too, which are
// then in flight for longer than they would be. The shedder notices that requests take longer than those that begin while workers
// are idle, finds out how many end per second, and takes as many of the waiting ones for done as enforcement would have served. What
// log-only would refuse is then what enforcement refuses, within five percent of all calls in every scenario of package sim but
// one: clients that ask again when they have given up on an answer are more in log-only mode, where the service drowns, than under
// enforcement, where it does not. Signals count by the share of the work that is left for kept requests.
//
// Where some callers are enforced and others in log-only mode, all are decided about as if all were enforced. Once all are enforced, a backlog
// that log-only has left is what it is, requests in flight: switch when an overload has ended.
//
// # Invariants
//
//   - A critical request is never refused.
//   - An enforced request below critical never brings the count beyond the hard cap; the check and the count are one step.
//   - Undecided requests of one caller take one worker from others, and no more than the hard cap for themselves.
//   - What Enter and Begin counted, Leave uncounts; the counts never go below zero.
//   - The level is between 0 and 1. A utilization that is NaN, infinite or negative leaves it as it is.
//   - Where no request waits for a worker, log-only decides exactly as enforce would on the same requests.
//   - Log-only refuses nothing, and what it estimates never changes an enforced decision about the hard cap.
//   - Enter, Begin and Leave take no lock, read no clock and allocate nothing.
//   - A closed shedder sheds nothing by level.
//
// Requests that live long, such as WebSockets, must not enter: they would occupy workers that they do not use.
package workershed
