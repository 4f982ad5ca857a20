// Package split has several stores decide about one request: those that have the state of its callers, where not all of it
// lies at one place, as on a Redis Cluster.
//
// Checks of one key are one call, and all calls go out at the same time. If one denies, what the others committed is taken
// back before the answer is given: leases are released, costs refunded (see [seawall.Refunder]; what is no Refunder's stays
// spent). So a request that is denied has cost nothing in the end, as with one store. It is not one step, though: until it is
// taken back another request may be denied for it. That is a denial too many, and never an admission.
//
// A store that fails spoils its own checks only. The error tells which were answered ([seawall.Answered]); what the others
// committed stands, unless one that fails closed was not answered.
package split
