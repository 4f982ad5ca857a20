// Package guard takes HTTP requests through a [seawall.Stack], whatever the web framework: it builds what the layers know
// of a request, writes the headers that tell clients what is left, and gives back what a request holds.
//
// The adapters are written on it, middleware for Echo v4, middleware/echov5 and middleware/nethttp; an adapter for
// another framework is some fifty lines: an [identity.Call], and [Guard.Enter] with [Passage.Done] around the handler.
//
// A refusal is a [Refusal]: 429 where the caller has used up what it may, 503 where the service cannot; its JSON is a
// problem of RFC 9457.
package guard
