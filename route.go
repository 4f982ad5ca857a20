package seawall

import (
	"slices"
	"strings"
)

// ValidRoute tells whether a policy's list of routes may hold the route: the text that a router has of it, such as
// "/v1/users/:id", from its first slash on, without a method and without braces, and with '*' at its end only. Without HTTP
// it may be the name of a procedure.
func ValidRoute(route string) bool {
	return route != "" && strings.IndexByte(route, '/') <= 0 && !strings.ContainsAny(route, " {}") && !strings.Contains(strings.TrimSuffix(route, "*"), "*")
}

// On tells whether the request's route is among the given ones, for every method. One that ends in '*' stands for all
// that begin so; none stand for all routes.
func (r *Request) On(routes []string) bool {
	return len(routes) == 0 || slices.ContainsFunc(routes, func(route string) bool {
		prefix, all := strings.CutSuffix(route, "*")
		return route == r.Route || all && strings.HasPrefix(r.Route, prefix)
	})
}
