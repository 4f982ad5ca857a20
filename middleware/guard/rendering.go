package guard

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
)

// Problem is an error that is answered as a problem of RFC 9457: a Refusal or an identity.Error.
type Problem interface {
	error
	json.Marshaler
	StatusCode() int
}

// Rendering is a problem on its way through an error handler, which renders it as JSON or something else instead. It is
// for frameworks that send their headers when the first of a body is written.
type Rendering struct {
	Problem
	rendered atomic.Bool
}

// Unwrap is for errors.As.
func (r *Rendering) Unwrap() error { return r.Problem }

// MarshalJSON implements json.Marshaler.
func (r *Rendering) MarshalJSON() ([]byte, error) {
	r.rendered.Store(true)
	return r.Problem.MarshalJSON()
}

// Label gives an answer its Content-Type, just before the headers are sent: that of a problem, if that was rendered, or to
// HEAD, where nothing is. Whoever answers with something else keeps what is there.
func (r *Rendering) Label(h http.Header, method string) {
	said := h.Get("Content-Type")
	if r.rendered.Load() && strings.HasPrefix(said, "application/json") || said == "" && method == http.MethodHead {
		h.Set("Content-Type", MediaType)
	}
}
