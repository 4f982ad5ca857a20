package seawall

import (
	"context"
	"errors"
)

// Reason names why a store could not be asked, as one of a small set of words: "timeout" if the wait ran
// out, what the error's own Reason method says if it has one, otherwise "error".
func Reason(err error) string {
	var r interface{ Reason() string }
	switch {
	case errors.As(err, &r):
		return r.Reason()
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "error"
}

// Undone tells whether an error of a store says that the call certainly changed nothing, as one that could not be
// sent: what the error's own Undone method says if it has one, otherwise false.
func Undone(err error) bool {
	var u interface{ Undone() bool }
	return errors.As(err, &u) && u.Undone()
}

// Answered tells whether check i of the request, counted from 0, was answered although the store returned an error: what the
// error's own Answered method says if it has one, otherwise false. A store that asks several others may have failed in part.
func Answered(err error, i int) bool {
	var a interface{ Answered(i int) bool }
	return errors.As(err, &a) && a.Answered(i)
}
