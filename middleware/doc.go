// Package middleware mounts Seawall's layers in Echo v4.
//
// [Stack] mounts any of the layers together: the store is asked once per request, and all layers decide as
// one. [RateLimit], [Concurrency], [FleetShed] and [WorkerShed] mount one layer each: each asks the store on
// its own, and what an earlier one spent is not given back when a later one refuses. The same limit met
// twice by one HTTP request is evaluated once. Each comes in three forms, as Echo's own do: with defaults, WithConfig, and
// as the ToMiddleware of its config, which returns an error where the other two panic.
//
// Mount them with Use, on groups or on routes, behind whatever authenticates, and behind CORS, which answers preflights
// by itself. A policy follows the route that Echo has matched, so Pre is too early: there no route is known yet, and all
// requests would be of the route "". A request that matches no route has the route "" too, or inside a group with
// middleware the group's, such as "/v1/*"; who asks for what is not there spends like everybody.
//
// A refusal is returned as an error, so outer middleware sees it, and renders as application/problem+json under Echo's own
// error handler; another one finds the [guard.Refusal] with errors.As. What a request holds is given back when its handler
// has returned, also by a panic.
//
// For Echo v5 there is middleware/echov5, for net/http middleware/nethttp.
package middleware
