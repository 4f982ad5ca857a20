package identity

import (
	"fmt"
	"iter"
	"net/http"
	"strings"
)

// Routes says something of some routes.
type Routes[V any] map[route]V

// route is a method and a pattern of the router's.
type route struct{ method, pattern string }

// NewRoutes reads "METHOD /pattern", as registered with the router, such as "GET /v1/charges/:id"; the method "*" is all of
// which nothing else is said. One of another form is an error, since it would never match.
func NewRoutes[V any](of map[string]V) (Routes[V], error) {
	r := make(Routes[V], len(of))
	for name, v := range of {
		method, pattern, _ := strings.Cut(name, " ")
		if method == "" || method != strings.ToUpper(method) || !strings.HasPrefix(pattern, "/") || strings.ContainsAny(pattern, " {}") {
			return nil, fmt.Errorf(`route %q: want "METHOD /pattern", such as "GET /v1/charges/:id"`, name)
		}
		r[route{method, pattern}] = v
	}
	return r, nil
}

// RouteSet is NewRoutes of a list: the routes in it are true.
func RouteSet(names []string) (Routes[bool], error) {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return NewRoutes(set)
}

// All are the methods and patterns.
func (r Routes[V]) All() iter.Seq2[string, string] {
	return func(yield func(method, pattern string) bool) {
		for at := range r {
			if !yield(at.method, at.pattern) {
				return
			}
		}
	}
}

// Find looks up a route; HEAD is GET where nothing else is said.
func (r Routes[V]) Find(method, pattern string) (v V, ok bool) {
	if len(r) == 0 {
		return v, false
	}
	if v, ok = r[route{method, pattern}]; !ok && method == http.MethodHead {
		v, ok = r[route{http.MethodGet, pattern}]
	}
	if !ok {
		v, ok = r[route{"*", pattern}]
	}
	return v, ok
}
