// Package nethttp mounts Seawall's layers around handlers of net/http.
//
// [Stack] takes a [seawall.Stack] of one layer or all of them. Around a [http.ServeMux] it does not know the route that
// the mux will match, unless it is told the mux: see [Config.Route]. Routes are written as everywhere in Seawall,
// "/v1/users/:id" for "/v1/users/{id}".
//
// A refusal is answered with application/problem+json, or as Config.DenyHandler says. What a request holds is given back
// when its handler has returned, also by a panic.
package nethttp
