package nethttp

import (
	"net/http"
	"reflect"
	"strings"
	"sync"
)

// MuxRoute is a Config.Route for a middleware around a mux: it asks which route the mux will match. It panics if mux is
// nil.
func MuxRoute(mux *http.ServeMux) func(*http.Request) string {
	if mux == nil {
		panic("nethttp: the ServeMux is nil; want the one that is wrapped")
	}
	known, redirect := new(routes), reflect.TypeOf(http.RedirectHandler("/", http.StatusTemporaryRedirect))
	return func(r *http.Request) string {
		h, pattern := mux.Handler(r)
		if r.Method == http.MethodConnect && reflect.TypeOf(h) == redirect { // of which the pattern may be the client's own path
			return ""
		}
		return known.of(pattern)
	}
}

// matched is the default of Config.Route.
func matched() func(*http.Request) string {
	known := new(routes)
	return func(r *http.Request) string { return known.of(r.Pattern) }
}

// routes remembers the routes of patterns, of which a mux has so many.
type routes struct{ known sync.Map }

func (k *routes) of(pattern string) string {
	if route, ok := k.known.Load(pattern); ok {
		return route.(string)
	}
	route := Route(pattern)
	k.known.Store(pattern, route)
	return route
}

// Route returns a ServeMux' pattern, such as "GET /v1/users/{id}", as a route, "/v1/users/:id". "{path...}" and what a
// pattern that ends in a slash matches is "*", and "{$}" is nothing.
func Route(pattern string) string {
	_, path, found := strings.Cut(pattern, "/") // behind method and host
	if !found {
		return ""
	}
	segments := strings.Split("/"+path, "/")
	for i, s := range segments {
		name, wild := strings.CutPrefix(s, "{")
		name = strings.TrimSuffix(name, "}")
		switch {
		case !wild && (s != "" || i < len(segments)-1):
		case !wild, strings.HasSuffix(name, "..."):
			segments[i] = "*"
		case name == "$":
			segments[i] = ""
		default:
			segments[i] = ":" + name
		}
	}
	return strings.Join(segments, "/")
}
