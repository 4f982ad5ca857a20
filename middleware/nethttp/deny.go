package nethttp

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Deny answers with the refusal as application/problem+json.
func Deny(w http.ResponseWriter, _ *http.Request, refusal *guard.Refusal) {
	problem(w, refusal.StatusCode(), refusal)
}

// unidentified answers a request that cannot be identified.
func unidentified(w http.ResponseWriter, _ *http.Request, err error) {
	e, ok := errors.AsType[*identity.Error](err)
	if !ok {
		e = &identity.Error{Status: http.StatusInternalServerError, Detail: "The request could not be identified."}
	}
	problem(w, e.StatusCode(), e)
}

func problem(w http.ResponseWriter, status int, body json.Marshaler) {
	w.Header().Set("Content-Type", guard.MediaType)
	text, err := body.MarshalJSON()
	if err != nil { // there is nothing in it that could not be rendered
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // of HEAD, the server sends none of it
}

// refusing is an answer whose status is not 200 by omission.
type refusing struct {
	http.ResponseWriter
	status   int
	answered bool
}

// Unwrap is for http.ResponseController.
func (w *refusing) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *refusing) WriteHeader(status int) {
	w.answered = w.answered || status >= http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *refusing) Write(b []byte) (int, error) {
	if !w.answered {
		w.WriteHeader(w.status)
	}
	return w.ResponseWriter.Write(b)
}
