package echov5

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v5"

	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Deny returns a refusal as an error that renders itself as application/problem+json under Echo's default error handler
// and, without the members limiter, policy and retry_after, under its ProblemDetailsHTTPErrorHandler. errors.As finds the
// refusal in it, and echo.StatusCode its status.
func Deny(c *echo.Context, refusal *guard.Refusal) error { return problem(c, refusal) }

// unidentified returns the error of a request that cannot be identified.
func unidentified(c *echo.Context, err error) error {
	if e, ok := errors.AsType[*identity.Error](err); ok {
		return problem(c, e)
	}
	return err
}

// answerable is an error that knows its status and renders as a problem.
type answerable interface {
	error
	json.Marshaler
	StatusCode() int
}

// problem returns the error in Echo's form.
func problem(c *echo.Context, of answerable) error {
	header := c.Response().Header()
	if c.Request().Method == http.MethodHead { // Echo answers without rendering
		if r, err := echo.UnwrapResponse(c.Response()); err == nil {
			r.Before(func() {
				if header.Get(echo.HeaderContentType) == "" {
					header.Set(echo.HeaderContentType, guard.MediaType)
				}
			})
		}
	}
	return &rendering{of, header}
}

// rendering is a problem that sets the Content-Type when it is rendered, and only then: Echo's c.JSON sends its headers
// after that, and an error handler that renders something else is not given the wrong one.
type rendering struct {
	answerable
	header http.Header
}

// Unwrap is for errors.As.
func (r *rendering) Unwrap() error { return r.answerable }

// MarshalJSON implements json.Marshaler.
func (r *rendering) MarshalJSON() ([]byte, error) {
	r.header.Set(echo.HeaderContentType, guard.MediaType)
	return r.answerable.MarshalJSON()
}

// ProblemError implements echo.ProblemErrorer.
func (r *rendering) ProblemError() *echo.ProblemError {
	p := &echo.ProblemError{Status: r.StatusCode()}
	if text, err := r.answerable.MarshalJSON(); err == nil {
		_ = json.Unmarshal(text, p) // whatever of it Echo has members for
	}
	return p
}
