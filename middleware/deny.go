package middleware

import (
	"errors"

	"github.com/labstack/echo/v4"

	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Deny returns a refusal as an error that renders itself as application/problem+json under Echo's default error handler,
// and in which errors.As finds the refusal.
func Deny(c echo.Context, refusal *guard.Refusal) error { return problem(c, refusal) }

// unidentified returns the error of a request that cannot be identified. What lies behind it may be Echo's own, such as
// BodyLimit's.
func unidentified(c echo.Context, err error) error {
	if own, ok := errors.AsType[*echo.HTTPError](err); ok {
		return own
	}
	if e, ok := errors.AsType[*identity.Error](err); ok {
		return problem(c, e)
	}
	return err
}

// problem returns the error in Echo's form.
func problem(c echo.Context, of guard.Problem) error {
	r := &guard.Rendering{Problem: of}
	res, method := c.Response(), c.Request().Method
	res.Before(func() { r.Label(res.Header(), method) })
	return &echo.HTTPError{Code: of.StatusCode(), Message: r, Internal: of}
}
