// Package cgroup measures how busy the process's control group is, as signals for the worker shedder: its CPU against
// its quota, how often it is throttled, and its memory against its limit.
//
// # Where it reads
//
// The group is the one that /proc/self/cgroup names, found through the mounts of /proc/self/mountinfo, with cgroup v2, v1
// and both at once (a controller is on v1 if a line of v1 names it). From there every group up to the mount point is
// looked at. A signal is the maximum over those that have a limit, each group's usage against its own limit: a parent may
// be tighter than its children, and what sits beside this process fills it too. A group that is outside of what is
// mounted here is taken to be the mount point itself, which is what containers see.
//
// Groups that are above the mount point cannot be seen: in a container with its own cgroup namespace, a pod's limit.
//
// # What utilization means
//
// Each signal maps what it measured to the shedder's scale, on which 0.7 is where shedding is let go of, 0.8 where it
// starts, and 1 the most. Between the points lies a straight line, beyond the last one it is 1.
//
//	cgroup_cpu         share of the CPUs that the quota allows:   0 → 0   .85 → .8   .95 → 1
//	cgroup_throttling  share of the periods that were throttled:  0 → 0   .25 → 1
//	memory             share of the limit:                        0 → 0   .90 → .7   .95 → 1
//
// CPU and throttling are rates: an exact exponential average of what was between two readings, with a time constant of
// one second, whatever the interval. It starts at 0, and the first reading is 0. A share may be above 1 for a moment and
// counts as such, since a quota is handed out in periods and a reading may see three of them or two.
//
// Without a quota, and with none below the CPUs that the process may use, CPU is what the process's own group uses of
// those; in the root group that is the whole machine. Without a quota nothing is throttled, and without a limit memory
// is 0. That is no error.
//
// Memory is without what the kernel drops first (inactive_file). It is also Go's own memory against GOMEMLIMIT, without
// what the garbage collector can free: a heap that grows to the limit by design is no alarm, one that is alive is. The
// control group knows no garbage, though: leave some 15 % between GOMEMLIMIT and its limit, or a heap that
// GOGC=off lets grow is one.
//
// # Errors
//
// What is missing or not as expected is an error that says which file, what was read and what was expected, and the next
// reading looks for everything anew. It does so every 10 s anyway: a process can be moved, a limit be added. Where there
// are no control groups (macOS, Windows) every reading is such an error, and the shedder does without.
package cgroup
