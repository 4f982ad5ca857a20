// Package flags reads kill switches and dark launches from feature flags, through any OpenFeature provider,
// and hands them to a Stack as gates.
//
// No flag is evaluated while a request waits. [Flags] evaluates all of them into one atomic snapshot: when
// it is made, when the provider says that something changed, and every [Config.Interval] because most
// providers never say so. A gate reads its part of it: a nanosecond or two, no allocation, no failure.
//
//	key (Config.Prefix is "seawall" here)  type    default    meaning
//	seawall-enabled                        bool    true       master kill switch
//	seawall-<layer>-enabled                bool    true       kill switch: the layer does nothing at all
//	seawall-<layer>-mode                   string  "enforce"  "enforce" or "log-only": dark launch of a layer
//	seawall-<layer>-<policy>-mode          string  "enforce"  the same for one policy; the laxer of both wins
//	seawall-ratelimit-scale                float   1          multiplies every rate and burst, 0.001 to 1000
//
// [Config.Defaults] changes the defaults of layers and policies in code. [Flags.Unread] names what looks misspelt.
//
// # What a flag is worth
//
//	the provider says                              the flag's value
//	a valid value                                  that value
//	FLAG_NOT_FOUND                                 its default, at once; no error (so who misspells a key is not told here)
//	that the flag is disabled                      what the provider says with it: its default, mostly
//	no provider is set                             its default; no error
//	TARGETING_KEY_MISSING, with [Config.Targeting] its default, and it is targeted; no error
//	any other error, or a value of another type    the last good value, at first the default; counted
//	a misspelt mode, a scale that is NaN or -1     the same
//	nothing: it panics                             the same
//	nothing: it hangs                              the same; it is asked again when it has come back
//
// What is wrong is in [Flags.Err], is counted in [Flags.Errors], and is logged once until it changes or
// goes away. One goroutine evaluates, so a provider that never returns costs one goroutine, not one per
// interval. An answer that arrives after [Config.Timeout] still counts: a kill switch that works late is
// better than one that does not work.
//
// Of flags that change together, what is laxer counts at once, what is stricter when all have been read: a layer
// that is switched on and put in log-only mode, or whose limit moves from the layer's mode to the policy's, is
// not enforced in between. What is stricter waits for the next round if the provider reports a change during
// this one, or if a flag has begun to fail in it. Changes of modes are logged.
//
// # One customer first
//
// With [Config.Targeting], callers have modes of their own: percentage roll-outs, one customer first. Still no
// flag is evaluated while a request waits. What a caller has is evaluated in the background, as soon as a
// request asks, and is remembered for the [Targeting.MaxCallers] callers that come most.
//
//	a flag's reason without a caller        the flag is
//	STATIC, DISABLED, FLAG_NOT_FOUND        the same for everyone; no caller is looked up, nothing more evaluated
//	CACHED                                  as it was before; at first targeted
//	any other, such as DEFAULT and SPLIT    targeted, but for the scale, which is the same for everyone
//
//	the caller of a request                 has
//	is not known, or has a zero Key         the untargeted value, which the provider gives without a targetingKey
//	is known                                its own value of each flag that is targeted
//	was evaluated before the last Interval  the same, and is evaluated again
//	was evaluated before some flag changed  the laxer of that and of the untargeted value, and is evaluated again
//	could not be evaluated                  its last good value, at first the untargeted one; counted
//
// The first requests of a caller therefore have the untargeted value: make it the laxer one. So do callers who
// come while 1,024 others wait; they are asked for again with their next request. Evaluating for callers takes
// turns with everything else on one goroutine, so a provider that asks a server for each evaluation keeps up
// with as many callers as it answers in an Interval. A FileProvider takes about 40 µs for each flag of a caller: with
// one that is targeted it keeps up with 200,000 callers in 10 s, with nine it takes a core for 30,000.
//
// Kill switches come first. A change is evaluated for everyone before the next caller has its turn, and a flag
// that has a plain value again has it for every caller at once, whatever is remembered. [Flags.Off] is about
// everything for everyone: only a seawall-enabled that is false and not targeted makes it true.
//
// Some providers give no value at all without a targetingKey. Give the client a context with one of its own,
// such as "seawall"; what it has is the untargeted value, also of a percentage, so that it may be the stricter one: have a
// rule for it. Likewise, rules that ask for the plan are asked without one.
//
// # A file of flags
//
// [OpenFile] needs no flag service: it serves the flags of a local file in flagd's format, targeting included,
// and follows its changes. What flagd answers, it answers ([decision 28] has the few differences), so a team
// can move to flagd with the file as it is. [NewFileProvider] is the same file as a provider for an OpenFeature API of your own.
//
// [decision 28]: https://github.com/seawall-go/seawall/blob/main/docs/decisions/0028-flag-file-targeting.md
package flags
