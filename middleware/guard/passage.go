package guard

import (
	"context"
	"net/http"

	"github.com/seawall-go/seawall"
)

// Passage is a request between Enter and Done. It must not be shared between requests. The zero Passage is ready for
// Enter.
type Passage struct {
	request   *seawall.Request // apart, since a tenure must not keep the call and its connection alive
	ctx       context.Context
	admission *seawall.Admission
	tenure    *tenure
}

// Request is what the layers know of the request, for a Guard further inside.
func (p *Passage) Request() *seawall.Request {
	if p.request == nil {
		p.request = new(seawall.Request)
	}
	return p.request
}

// Lives tells whether the request lasts as long as its client likes, and Hold is to be called.
func (p *Passage) Lives() bool { return p.admission != nil && p.request.LongLived }

// Hold returns what the handler of a long-lived request must write to instead of w, so that the passage lasts as long as
// a connection that it takes over: many handlers of WebSockets return while others go on with the connection. Of other
// requests, that is w.
func (p *Passage) Hold(w http.ResponseWriter) http.ResponseWriter {
	if !p.Lives() {
		return w
	}
	p.tenure = newTenure(p.ctx, p.admission)
	return &hijackable{w, p.tenure}
}

// Done ends the passage when the handler has returned: what the request holds is given back, or as soon as a connection
// that it has taken over is closed.
func (p *Passage) Done() {
	switch {
	case p.admission == nil: // it was not identified, or everything is off
	case p.tenure != nil:
		p.admission.Return()
		p.tenure.leave()
	default:
		p.admission.Done(p.ctx)
	}
}
