package echov5

import (
	"encoding/json"
	"errors"

	"github.com/labstack/echo/v5"

	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Deny returns a refusal as an error that renders itself as application/problem+json under Echo's default error handler
// and, without the members that are Seawall's own, under its ProblemDetailsHTTPErrorHandler. errors.As finds the refusal in
// it, and echo.StatusCode its status.
func Deny(c *echo.Context, refusal *guard.Refusal) error { return problem(c, refusal) }

// unidentified returns the error of a request that cannot be identified. What lies behind it may be Echo's own, such as
// BodyLimit's.
func unidentified(c *echo.Context, err error) error {
	if e, ok := errors.AsType[*identity.Error](err); ok {
		if cause := e.Unwrap(); echo.StatusCode(cause) != 0 {
			return cause
		}
		return problem(c, e)
	}
	return err
}

// problem returns the error in Echo's form.
func problem(c *echo.Context, of guard.Problem) error {
	r := &rendering{guard.Rendering{Problem: of}}
	if res, err := echo.UnwrapResponse(c.Response()); err == nil {
		method := c.Request().Method
		res.Before(func() { r.Label(res.Header(), method) })
	}
	return r
}

// rendering is a problem that Echo's error handlers know how to answer.
type rendering struct{ guard.Rendering }

// ProblemError implements echo.ProblemErrorer.
func (r *rendering) ProblemError() *echo.ProblemError {
	p := &echo.ProblemError{Status: r.StatusCode()}
	if text, err := r.Problem.MarshalJSON(); err == nil {
		_ = json.Unmarshal(text, p) // whatever of it Echo has members for
	}
	return p
}
