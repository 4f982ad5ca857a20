package guard

import (
	"context"
	"net/http"

	"github.com/seawall-go/seawall"
)

// Passage is a request between Receive and Done. It must not be shared between requests. The zero Passage is ready for
// Receive. All of it is one piece of memory, which is not used again: what is inside may hold its request for longer.
type Passage struct {
	within    within
	outside   *http.Request
	inside    http.Request
	admission *seawall.Admission
	tenure    *tenure
	fields    [2]string // the values of headers

	own struct { // of all but long-lived requests: a tenure must not keep the call and its connection alive
		request   seawall.Request
		admission seawall.Admission
	}
}

// within is the context of what is further inside.
type within struct {
	context.Context // of what is outside
	request         *seawall.Request
}

// requestKey is where the context of what is inside keeps what the Guard outside has made of the request.
type requestKey struct{}

// Value implements context.Context.
func (w *within) Value(key any) any {
	if key == (requestKey{}) {
		return w.request
	}
	return w.Context.Value(key)
}

// Inside returns the request for all that is further inside, the handler and a Guard that is mounted there included, in
// place of r. It is called once, after Receive.
func (p *Passage) Inside(r *http.Request) *http.Request {
	p.within.Context = r.Context()
	p.outside, p.inside = r, *r.WithContext(&p.within)
	return &p.inside
}

// tellOutside has the request of what is outside hold what was found out inside: net/http removes the files of the one, and
// others ask it for its route and its form. It is written to only then, since behind a timeout of the framework's own others
// may be reading it by now.
func (p *Passage) tellOutside() {
	out, in := p.outside, &p.inside
	if out == nil {
		return
	}
	if out.Pattern != in.Pattern {
		out.Pattern = in.Pattern
	}
	if out.MultipartForm != in.MultipartForm {
		out.MultipartForm = in.MultipartForm
	}
	if out.Form == nil && in.Form != nil {
		out.Form, out.PostForm = in.Form, in.PostForm
	}
}

// Lives tells whether the request lasts as long as its client likes, and Hold is to be called.
func (p *Passage) Lives() bool { return p.admission != nil && p.within.request.LongLived }

// Hold returns what the handler of a long-lived request must write to instead of w, so that the passage lasts as long as
// a connection that it takes over: many handlers of WebSockets return while others go on with the connection. Of other
// requests, that is w.
func (p *Passage) Hold(w http.ResponseWriter) http.ResponseWriter {
	if !p.Lives() {
		return w
	}
	p.tenure = newTenure(p.within.Context, p.admission)
	return &hijackable{w, p.tenure}
}

// Done ends the passage when the handler has returned: what the request holds is given back, or as soon as a connection
// that it has taken over is closed.
func (p *Passage) Done() {
	p.tellOutside()
	switch {
	case p.admission == nil: // it was not identified, or everything is off
	case p.tenure != nil:
		p.admission.Return()
		p.tenure.leave()
	default:
		p.admission.Done(p.within.Context)
	}
}
