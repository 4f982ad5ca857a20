package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRoutesAreThoseOfTheRouter(t *testing.T) {
	r, err := newRoutes([]string{"/v1/users/:id", "/v1/users/me", "/files/*", "POST /v1/charges"})
	require.NoError(t, err)
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/v1/users/42", "/v1/users/:id"},
		{"DELETE", "/v1/users/42", "/v1/users/:id"},
		{"GET", "/v1/users/me", "/v1/users/me"},
		{"GET", "/files/a/b/c", "/files/*"},
		{"POST", "/v1/charges", "/v1/charges"},
		{"GET", "/v1/other", ""},
		{"GET", "/", ""},
		{"", "", ""},
		{"", "/v1/users/42", "/v1/users/:id"},
		{"\x16\x03", "/v1/users/42", "/v1/users/:id"},
	} {
		for range 2 {
			assert.Equal(t, c.want, r.told(r.of([]byte(c.method), []byte(c.path))), "%s %s", c.method, c.path)
		}
	}
}

func TestWithoutPatternsTheFirstSegmentIsShown(t *testing.T) {
	r, err := newRoutes(nil)
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/": "/", "/robots.txt": "/robots.txt", "/downloads/a": "/downloads/*", "/downloads/b/c": "/downloads/*", "": elsewhere, "/x/": "/x/",
	} {
		i := r.of(nil, []byte(path))
		assert.Equal(t, want, r.names[i], path)
		assert.Empty(t, r.told(i), "the rules are told of no route")
	}
	i := r.of(nil, []byte("/x/y"))
	assert.Equal(t, "/x/*", r.names[i], "it is no longer /x/ alone")
	for i := range 2 * maxSegments {
		r.of(nil, fmt.Append(nil, "/", i))
	}
	assert.LessOrEqual(t, len(r.names), maxSegments+1)
}

func TestBadPatternsAreNamed(t *testing.T) {
	for _, pattern := range []string{"v1", "", "GET", "GET v1", "GET /a b"} {
		_, err := newRoutes([]string{pattern})
		assert.ErrorContains(t, err, "want a pattern", pattern)
	}
}
