package identity

import (
	"encoding/json"
	"net/http"

	"github.com/seawall-go/seawall"
)

// Call is one HTTP request as an adapter shows it. It must not be kept after the function that it was given to has
// returned.
type Call interface {
	// Request is the request. Its body must not be read, or must be given back.
	Request() *http.Request
	// Response is where the answer goes.
	Response() http.ResponseWriter
	// Route is the pattern of the matched route, such as "/v1/users/:id"; of what matches none it is "", or that of the
	// group that it fell through, such as "/v1/*".
	Route() string
	// Address is the client's address, as far as the framework believes what it is told.
	Address() string
	// Get returns what earlier middleware has left under a name, such as who was authenticated: with Echo by
	// Context.Set, with net/http as a value of the request's context, by the name itself.
	Get(name string) any
}

// Identify says who asks. It fills in Key, and may fill in More, Cost and Authenticated, and lower the Tier to
// seawall.TestMode. It runs before any limit is asked, and must be safe for concurrent use. If it returns an error, the
// request is answered with that; if that is an *Error and there is a Key, the request has to be within the limits of that
// first. If it panics, the request goes on as one of its client address.
type Identify func(c Call, r *seawall.Request) error

// Error is a request that cannot be identified, through its client's fault. Its JSON is a problem of RFC 9457.
type Error struct {
	// Status is the answer's; zero is 400.
	Status int
	// Detail says what is wrong with the request. It holds no text of the client's.
	Detail string

	cause error
}

// Error implements error.
func (e *Error) Error() string { return "identity: " + e.Detail }

// Unwrap returns what lies behind it, such as the error of a middleware that limits bodies; nil is nothing.
func (e *Error) Unwrap() error { return e.cause }

// StatusCode is the answer's status: 400 if there is no other one that tells of a client's fault, or of the service's.
func (e *Error) StatusCode() int {
	if e.Status < 400 || e.Status > 599 {
		return http.StatusBadRequest
	}
	return e.Status
}

// MarshalJSON renders the problem.
func (e *Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(e.StatusCode()), e.StatusCode(), e.Detail})
}
