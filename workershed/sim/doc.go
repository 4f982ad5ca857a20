// Package sim plays a service, its clients and a shedder in virtual time, to find out before an overload what a shedder does in it,
// and to tune its constants. It runs the code of package workershed that processes run, not a model of it. A quarter of an hour
// takes about a fifth of a second, and the same scenario gives the same result each time.
//
//	cfg := workershed.Config{Workers: 40, RampUp: time.Minute}
//	subject, err := sim.Worker("slow ramp", cfg, seawall.Enforce)
//	...
//	result, err := sim.Run(sim.Scenario{Load: sim.Always(2), For: 10 * time.Minute}, subject)
//
// # What is played
//
// Calls arrive by a Poisson process, whatever becomes of those before (an open loop), from callers of four tiers. A call is a
// request, and if that is refused perhaps further ones. What is admitted is worked on by Workers at a time, for an exponential time unless Scenario.Work says otherwise;
// what exceeds them waits in line, or shares the processor, or runs as well, see [Discipline]. Clients have a patience; what they
// give up on is worked on all the same. A [Scenario] says how load, work and workers change.
//
// [Scenarios] are the situations by which the defaults of package workershed were chosen, [Subjects] what they are compared with,
// and [Table] writes down the results. The tests of this package assert what is promised of the defaults:
//
//   - critical calls are answered in time, 99 % at least, at three times the load a service can take;
//   - the level turns no more than twice in an overload, and no more often than with Stripe's constants;
//   - queues that an overload has left drain in half of the time, at least;
//   - nobody is shed for longer than Config.Rotate while the tier is shed in part;
//   - in log-only mode, first attempts that would have been refused are as many as enforcement refuses, within five percent of
//     all calls.
//
// # What log-only cannot know
//
// In log-only mode the service really drowns. Its clients give up on it, and where they then ask again ([Retry].Impatient), their
// repetitions look like calls: they would not have been made under enforcement, which answers those it lets in. The scenario
// [ImpatientClients] shows how far off that is. Refusals that were not made cannot cause repetitions, on the other hand, so what
// enforcement refuses may be a few percent more where clients repeat what was refused.
//
// It also has to learn from few requests how long one takes that does not wait. With exponential or regular work that is enough; where one
// request in a hundred takes a hundred times as long as the median (LongTail(2)), log-only may tell half as much again as enforcement refuses, at a
// load near what the service can take more than that. Where requests share the processor and all take as long (Share and
// Regular), it tells up to 14 percent of the calls of an overload too much, since an ever longer line lowers what ends per second.
//
// # Limits
//
// There is one process, one shedder and no network. Callers keep to their tier.
package sim
