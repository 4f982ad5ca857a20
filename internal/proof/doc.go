// Package proof holds no code but tests, of what Seawall claims about its rate limit rules:
//
//   - that both stores answer as the model explains, field by field, over the whole range of rates, limits and
//     calendars, also where the clock stalls or steps back, limits change and idle state is forgotten;
//   - the invariants I1, I2, I3 and I5 of the package seawall, and that a refund gives back no more than its spend;
//   - I1 again with four processes on one Redis and its own clock;
//   - that concurrent histories are linearizable, also where calls are given up, and that such a test finds
//     stores that are wrong;
//   - how far the sliding counter's estimate is from the truth (it prints that).
//
// It is a module of its own, so that the tools it needs are no concern of Seawall's users.
//
// By itself a run takes less than a minute and draws the same cases every time. With SEAWALL_PROOF=long in the
// environment it takes some fifteen minutes and draws others; a failure then prints the seed, which
// -rapid.seed repeats:
//
//	SEAWALL_PROOF=long SEAWALL_REQUIRE_REDIS=1 go test -timeout 60m ./...
package proof
