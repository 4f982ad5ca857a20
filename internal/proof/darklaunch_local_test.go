package proof

import (
	"time"

	"github.com/seawall-go/seawall"
)

// darkLocal is a local layer that refuses as it is told.
type darkLocal struct {
	limit      *seawall.Limit
	busy, full bool
	inside     int
}

// What a request was counted in as.
const (
	handled seawall.Ticket = iota + 1
	spared
)

const localWait = 3 * time.Second

func newDarkLocal() (*darkLocal, error) {
	l, err := seawall.NewLimit(localLayer, localPolicy, seawall.FailOpen)
	return &darkLocal{limit: l}, err
}

func (l *darkLocal) Name() string             { return localLayer }
func (l *darkLocal) Cause() seawall.Cause     { return seawall.CauseCapacity }
func (l *darkLocal) Limits() []*seawall.Limit { return []*seawall.Limit{l.limit} }

// Plan implements seawall.Layer.
func (l *darkLocal) Plan(dst []seawall.Check, _ *seawall.Request) []seawall.Check { return dst }

// Enter implements seawall.Local.
func (l *darkLocal) Enter(_ *seawall.Request, m seawall.Mode) (seawall.Result, seawall.Ticket) {
	res := seawall.Result{Admitted: !l.busy}
	if l.busy {
		res.RetryAfter = localWait
	}
	switch {
	case m == seawall.LogOnly:
		l.inside++
		return res, spared
	case l.busy:
		return res, 0
	}
	l.inside++
	return res, handled
}

// Begin implements seawall.Local.
func (l *darkLocal) Begin(t seawall.Ticket, _ bool) (seawall.Result, seawall.Ticket) {
	if l.full && t == handled {
		l.inside--
		return seawall.Result{RetryAfter: localWait}, 0
	}
	return seawall.Result{Admitted: true}, t
}

// Leave implements seawall.Local.
func (l *darkLocal) Leave(seawall.Ticket) { l.inside-- }
