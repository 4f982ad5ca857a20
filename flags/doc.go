// Package flags reads kill switches and dark launches from feature flags, through any OpenFeature provider,
// and hands them to a Stack as gates.
//
// No flag is evaluated while a request waits. [Flags] evaluates all of them into one atomic snapshot: when
// it is made, when the provider says that something changed, and every [Config.Interval] because most
// providers never say so. A gate reads the snapshot: about a nanosecond, no allocation, no failure.
//
//	key (Config.Prefix is "seawall" here)  type    default    meaning
//	seawall-enabled                        bool    true       master kill switch
//	seawall-<layer>-enabled                bool    true       kill switch: the layer does nothing at all
//	seawall-<layer>-mode                   string  "enforce"  "enforce" or "log-only": dark launch of a layer
//	seawall-<layer>-<policy>-mode          string  "enforce"  the same for one policy; the laxer of both wins
//	seawall-ratelimit-scale                float   1          multiplies every rate and burst, 0.001 to 1000
//
// [Config.Defaults] changes the defaults of layers and policies in code.
//
// # What a flag is worth
//
//	the provider says                              the flag's value
//	a valid value                                  that value
//	FLAG_NOT_FOUND, or the flag is disabled        its default, at once; no error
//	no provider is set                             its default; no error
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
// # A file of flags
//
// [OpenFile] needs no flag service: it serves the flags of a local file in flagd's format and follows its
// changes. [NewFileProvider] is the same file as a provider for an OpenFeature API of your own.
package flags
