// Package bench measures Seawall beside its peers and beside the limit, in a module of its own so that nobody who uses Seawall
// downloads them. Its tests measure; the package itself is what a run leaves, measured.json, and what has to be reached.
//
// The short run is an ordinary test: it asserts that every stage is set up as it should be (keys are distinct, something is
// refused, results are right) and that every target has its line. The long one takes ten minutes and writes the record, from
// which the module internal/plots writes docs/benchmarks.md:
//
//	SEAWALL_BENCH=long SEAWALL_BENCH_RECORD=$PWD/measured.json go test -run TestBench -count=1 -timeout 30m -v .
//
// SEAWALL_BENCH_STAGES has only those stages run that it names, such as "Echo, deny cache", and nothing is written.
//
// The folder outage is about the time while Redis is away.
package bench
