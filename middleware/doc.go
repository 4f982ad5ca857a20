// Package middleware mounts Seawall's layers in Echo v4.
//
// [Stack] mounts any of the layers together: the store is asked once per request, and all layers decide as
// one. [RateLimit], [Concurrency], [FleetShed] and [WorkerShed] mount one layer each: each asks the store on
// its own, and what an earlier one spent is not given back when a later one refuses. The same limit met
// twice by one HTTP request is evaluated once.
//
// Mount them with Use, on groups or on routes, behind whatever authenticates; Pre is too early, since no
// route has been matched there. A refusal is returned as an error, so outer middleware sees it, and renders
// as application/problem+json under Echo's own error handler. An error handler that renders something else
// must set the Content-Type itself, since Echo keeps the one that is there. What a request holds is given
// back when its handler has returned, also by a panic.
package middleware
