// Package ratelimit limits how often a caller may ask: the layer "ratelimit".
//
// A [Limiter] holds policies. Each [Policy] that is about a request adds one check on one caller's [Quota]; the
// store spends from all of them or from none. A [Budget] spends the same quotas without HTTP.
//
// A quota is one of four algorithms; docs/algorithms.md compares them with plots. All reckon with whole
// numbers on the store's clock. What is spent, spent later than the present clock says, was spent before the
// clock stepped back: it counts as spent now at the latest, so nobody waits for longer than one refill.
//
// # Token bucket
//
// A bucket holds at most Burst tokens and gains one every interval, the rate's period divided by its count,
// rounded up to a whole nanosecond. Rounding up keeps the bucket from ever gaining faster than its rate, and
// a whole number makes a token exact: a full bucket always has exactly Burst of them, and what remains is
// never off by one. Its price is at most 1 ns per token: nothing for 1, 10 or 1000 tokens a second, 3 parts
// in 10^9 for 3 a second, and at worst 0.1 % just below a million a second.
//
// The state is one number, the theoretical arrival time: when the bucket will be full again. With
// debt = max(0, arrival time - now), a cost of c fits if and only if
//
//	debt + c·interval ≤ Burst·interval
//
// which is the generic cell rate algorithm. A debt greater than Burst·interval can only stem from a changed
// limit or a clock that stepped back, and is cut to it, for good by the first refusal that meets it, so
// nobody waits longer than one refill.
//
// # Sliding log
//
// The state is every request of the last window with its cost. A cost of c fits if and only if
//
//	sum of the costs younger than the window + c ≤ limit
//
// and a request is exactly one window old when it leaves.
//
// # Sliding counter
//
// The state is what was used in the present window and in the one before; windows are aligned to the Unix
// epoch. A cost of c fits if and only if
//
//	before·w + since + c ≤ limit      w = 1 - ⌊elapsed / (window / 10^6)⌋ / 10^6
//
// where w is the share of the previous window that the sliding one still covers, in steps of a millionth of a
// window, rounded up. It takes the requests of the previous window for evenly spread.
//
// # Fixed window
//
// The state is what was used since the last boundary of a [Calendar]. A cost of c fits if and only if
//
//	used + c ≤ limit
//
// On Redis the caller sends the boundaries around what it takes for the time, and Redis' clock picks.
//
// # Refunds
//
// A refund takes a spend back as if it had never been, as far as that is certain, and never more: of a bucket
// what has not refilled since, c·interval - (now - when it was spent); of a log the request's entry; of the counters
// what lies in the window that it was spent in. When that was, the store itself has said, and it tells now when
// the refund arrives. So what was admitted and not refunded still keeps within every limit above.
package ratelimit
