package seawall

// Layer is a limiter. Implementations are safe for concurrent use.
type Layer interface {
	// Name is the layer's name in flags, labels and answers.
	Name() string
	// Cause says why the layer refuses, which decides between 429 and 503.
	Cause() Cause
	// Limits lists the limits of all checks that Plan may append; for a local layer, one that stands for it.
	Limits() []*Limit
	// Plan appends the checks that decide about r; none if r is not the layer's business or it is local.
	Plan(dst []Check, r *Request) []Check
}

// Local is a Layer that decides from memory, before the store is asked.
type Local interface {
	Layer
	// Enter decides about r, of which only Admitted and RetryAfter are used, and counts it in as one that the other
	// layers may still refuse. In LogOnly mode a refused request goes on all the same. The zero Ticket stands for nothing
	// counted.
	Enter(r *Request, m Mode) (Result, Ticket)
	// Begin is called with the ticket of Enter when all layers have admitted the request: from now on it is handled. A
	// layer that has no room for it any more may refuse it once more; what it has spent by then is not given back.
	// spared tells that this layer is in log-only mode and that another one's refusal is, too: had all been enforced, the
	// request would not be handled.
	Begin(t Ticket, spared bool) (Result, Ticket)
	// Leave is called once with the last ticket that is not zero: as soon as the request is refused, or when its handler
	// has returned.
	Leave(t Ticket)
}

// Ticket carries what a Local layer must remember of one request between Enter, Begin and Leave.
type Ticket uint32

// Sizer is a Layer that knows how many workers this instance adds to the fleet.
type Sizer interface {
	Workers() int64
}

// Reloader is a Layer whose limits can change while it is in use.
type Reloader interface {
	Layer
	// OnLimits has f called with all limits before Plan appends checks of new ones, so that their modes are known
	// before the first request meets them.
	OnLimits(f func([]*Limit))
}

// Typical is a Layer that can name a check like those of most requests, for a store to get ready.
type Typical interface {
	Typical() Check
}

// Cause is why a request was refused.
type Cause uint8

const (
	// CauseQuota: the caller used up what it may. HTTP 429.
	CauseQuota Cause = iota
	// CauseCapacity: the service has no capacity for it now. HTTP 503.
	CauseCapacity
	// CauseBlocked: the caller is blocked, whatever it asks. HTTP 429.
	CauseBlocked
	// CauseUnavailable: the store could not be asked, and the limit fails closed. HTTP 503.
	CauseUnavailable
)
