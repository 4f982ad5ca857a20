// Package echov5 mounts Seawall's layers in Echo v5. It is the same as package middleware, which is for Echo v4, in a
// module of its own.
//
// [Stack] mounts any of the layers together: the store is asked once per request, and all layers decide as one.
// [RateLimit], [Concurrency], [FleetShed] and [WorkerShed] mount one layer each: each asks the store on its own, and what
// an earlier one spent is not given back when a later one refuses. The same limit met twice by one HTTP request is
// evaluated once. Each comes in three forms, as Echo's own do: with defaults, WithConfig, and as the ToMiddleware of its
// config, which returns an error where the other two panic.
//
//	e := echo.New()
//	e.Use(middleware.Recover(), echov5.Stack(layers))
//
// Mount them with Use, on groups or on routes, behind whatever authenticates, and behind CORS, which answers preflights
// by itself. A policy follows the route that Echo has matched, so Pre is too early: there no route is known yet, and all
// requests would be of the route "". A request that matches no route has the route "" too, or inside a group with
// middleware the group's, such as "/v1/*"; who asks for what is not there spends like everybody. Behind a proxy, set
// Echo.IPExtractor, or all clients are one.
//
// A refusal is returned as an error, so outer middleware sees it: errors.As finds the [guard.Refusal], and
// echo.StatusCode is 429 or 503. It renders as application/problem+json under Echo's DefaultHTTPErrorHandler. Under
// ProblemDetailsHTTPErrorHandler it does so with the members that Echo knows; the policies and the wait are then in the
// headers alone. Other error handlers render what they like. What a request holds is given back when its handler has
// returned, also by a panic.
//
// The handler of a long-lived route, see [Config], is given a response of ours, which unwraps to Echo's: use
// http.NewResponseController, as for every response of Echo v5, or echo.UnwrapResponse.
package echov5
