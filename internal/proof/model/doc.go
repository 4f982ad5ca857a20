// Package model explains Seawall's rate limit rules the way one would to a colleague: in tokens and spends, in
// exact fractions, without a thought for speed or storage. Production is compared with it. The two share the
// words of the package seawall, [seawall.Result] and [seawall.Op], and no arithmetic.
//
// # How waits are found
//
// A rule here says only how much is left at a time, and whether a caller is as good as new at a time. What a
// caller is told to wait is then what the words on [seawall.Result] say, and no formula: the first microsecond
// at which the cost fits, at which more remains, at which the caller is as good as new. See [Store.Apply].
//
// # What an odd clock means
//
// Where the clock steps back, a caller's past lies partly in the future. Each rule says what it makes of that.
// It is provisional as long as nobody was harmed, for good once somebody was refused for it (or something was
// spent on top): see [Rule.Asked]. What callers are told is always as if it were for good.
//
// # What a changed limit means
//
// The past belongs to a caller, not to a rule. Rules of one kind with other numbers read the same past, and
// each says how. Of a past of another kind a rule knows nothing; it is replaced once something is spent.
package model
