// Package ratelimit limits how often a caller may ask: the layer "ratelimit".
//
// A [Limiter] holds policies. Each policy that matches a request adds one check on one caller's bucket; the
// store spends from all of them or from none.
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
package ratelimit
