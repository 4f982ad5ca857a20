package middleware

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Deny returns a refusal as an error that renders itself as application/problem+json under Echo's default error handler,
// and in which errors.As finds the refusal.
func Deny(c echo.Context, refusal *guard.Refusal) error { return problem(c, refusal) }

// unidentified returns the error of a request that cannot be identified.
func unidentified(c echo.Context, err error) error {
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
func problem(c echo.Context, of answerable) error {
	header := c.Response().Header()
	if c.Request().Method == http.MethodHead { // Echo answers without rendering
		header.Set(echo.HeaderContentType, guard.MediaType)
	}
	return &echo.HTTPError{Code: of.StatusCode(), Message: &rendering{of, header}, Internal: of}
}

// rendering is a problem that sets the Content-Type when it is rendered, and only then: Echo's c.JSON sends its headers
// after that, and an error handler that renders something else is not given the wrong one.
type rendering struct {
	answerable
	header http.Header
}

// MarshalJSON implements json.Marshaler.
func (r *rendering) MarshalJSON() ([]byte, error) {
	r.header.Set(echo.HeaderContentType, guard.MediaType)
	return r.answerable.MarshalJSON()
}
