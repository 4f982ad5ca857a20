package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// elsewhere is how a route is shown that none of the patterns fits.
const elsewhere = "(no route)"

// maxSegments is how many first segments of paths stand for routes, where no patterns are known.
const maxSegments = 1000

// routes finds the pattern of a request by the router that an application has. Without patterns it takes the path's first
// segment for one, such as "/downloads/*", in tables only: the rules are told of no route then.
type routes struct {
	router *echo.Router // nil: there are no patterns
	found  echo.Context
	names  []string
	ids    map[string]int32
}

// newRoutes returns routes by the patterns, in the form of Echo's, which may have a method in front: "/v1/users/:id",
// "GET /v1/*".
func newRoutes(patterns []string) (r *routes, err error) {
	r = &routes{names: []string{elsewhere}, ids: map[string]int32{"": 0}}
	if len(patterns) == 0 {
		return r, nil
	}
	defer func() { // Echo's answer to patterns that it cannot tell apart
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("routes: %v", p)
		}
	}()
	e := echo.New()
	for _, pattern := range patterns {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method, path = "", pattern
		}
		if !strings.HasPrefix(path, "/") || strings.Contains(path, " ") {
			return nil, fmt.Errorf("route %q; want a pattern such as /v1/users/:id, /v1/* or GET /v1/users", pattern)
		}
		if method == "" {
			e.Any(path, nothing)
		} else {
			e.Add(strings.ToUpper(method), path, nothing)
		}
	}
	r.router, r.found = e.Router(), e.NewContext(nil, nil)
	return r, nil
}

func nothing(echo.Context) error { return nil }

// of returns the number of a request's route.
func (r *routes) of(method, path []byte) int32 {
	if len(path) == 0 {
		return 0
	}
	if r.router == nil {
		return r.segment(path)
	}
	verb := string(method)
	if verb == "" || verb == "-" {
		verb = http.MethodGet
	}
	r.found.Reset(nil, nil)
	r.router.Find(verb, string(path), r.found)
	return r.id(r.found.Path())
}

func (r *routes) id(name string) int32 {
	i, ok := r.ids[name]
	if !ok {
		i = int32(len(r.names))
		r.names = append(r.names, name)
		r.ids[name] = i
	}
	return i
}

// segment is the route that stands for a path where there are no patterns.
func (r *routes) segment(path []byte) int32 {
	first := path
	if end := bytes.IndexByte(path[1:], '/'); end >= 0 {
		first = path[:end+2]
	}
	i, ok := r.ids[string(first)]
	if !ok {
		if len(r.names) > maxSegments {
			return 0
		}
		i = r.id(string(first))
	}
	if len(first) < len(path) && len(r.names[i]) == len(first) {
		r.names[i] = string(first) + "*"
	}
	return i
}

// told is the route as the rules know it.
func (r *routes) told(i int32) string {
	if r.router == nil || i == 0 {
		return ""
	}
	return r.names[i]
}
