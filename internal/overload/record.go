package overload

import (
	_ "embed"
	"fmt"

	"github.com/seawall-go/seawall/internal/measured"
)

// The states of the shedder that are compared.
const (
	Off     = "off"
	Enforce = "enforce"
)

// Tiers is how many tiers there are: what is indexed by tier has "critical", "write", "read" and "test", in this order.
const Tiers = 4

// TierNames returns their names.
func TierNames() [Tiers]string { return [Tiers]string{"critical", "write", "read", "test"} }

// Record is what a long run measured.
type Record struct {
	Machine    string         `json:"machine"`
	Processors int            `json:"processors"` // that the command may use
	Workers    int            `json:"workers"`    // the command's -workers
	WorkMs     int            `json:"work_ms"`    // processor time of a request
	Patience   float64        `json:"patience_s"` // after which a client gives up
	Capacity   float64        `json:"capacity"`   // requests per second, of which the parts are multiples
	Callers    int            `json:"callers"`    // with a key of their own
	Mix        [Tiers]float64 `json:"mix"`        // shares of the requests
	Parts      []Part         `json:"parts"`
	Runs       []Run          `json:"runs"` // in the order in which they were made
}

// Part is a time with one rate.
type Part struct {
	Name    string  `json:"name"`
	Times   float64 `json:"times"` // the capacity
	Seconds int     `json:"seconds"`
}

// Run is one process, from its start to its end.
type Run struct {
	Shedder string   `json:"shedder"`
	Before  float64  `json:"capacity_before"`          // of this process, just before
	After   float64  `json:"capacity_after,omitempty"` // and just after, if there is no backlog
	Parts   []Played `json:"parts"`
	Seconds []Second `json:"seconds"`
}

// Played is what was seen of a part.
type Played struct {
	Rate      int            `json:"rate"`        // requests per second
	Server    float64        `json:"server"`      // processors that the command took; zero is unknown
	Generator float64        `json:"generator"`   // processors that the load itself took
	LateP99   float64        `json:"late_p99_ms"` // how late requests were sent
	Tiers     [Tiers]Outcome `json:"tiers"`
}

// Outcome is what became of requests of one tier.
type Outcome struct {
	Sent    int `json:"sent"`
	Served  int `json:"served"`  // 200 in time
	Refused int `json:"refused"` // 503
	GaveUp  int `json:"gave_up"` // the client did, after its patience
	Failed  int `json:"failed"`  // anything else
	// Times from when a request was due, in ms: of those that were served, and of all.
	ServedP50 float64 `json:"served_p50_ms"`
	ServedP99 float64 `json:"served_p99_ms"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
}

// Second is one second of a run. What was asked of the process is absent if it did not answer in time.
type Second struct {
	Sent        [Tiers]int      `json:"sent"`    // by when they were due
	Served      [Tiers]int      `json:"served"`  // of these
	P99         [Tiers]float64  `json:"p99_ms"`  // of these, whatever became of them
	Waiting     int64           `json:"waiting"` // clients, at the end of the second
	InFlight    *float64        `json:"in_flight,omitempty"`
	Utilization *float64        `json:"utilization,omitempty"`
	Shed        *[Tiers]float64 `json:"shed,omitempty"` // share of the tier that is shed by level
}

//go:embed measured.json
var committed []byte

// Measured returns the record that is committed.
func Measured() (r Record, err error) {
	if err := measured.Read(committed, &r, "overload"); err != nil {
		return r, fmt.Errorf("overload: %w", err)
	}
	return r, nil
}

// Marshal writes a record so that a second is a line.
func (r Record) Marshal() ([]byte, error) {
	return measured.Write(r, `{"name":`, `{"shedder":`, `{"rate":`, `{"sent":[`)
}

// Seconds is how long a run is.
func (r Record) Seconds() (sum int) {
	for _, p := range r.Parts {
		sum += p.Seconds
	}
	return sum
}

// All adds up what became of requests of some tiers; its times are zero.
func All(tiers ...Outcome) (sum Outcome) {
	for _, o := range tiers {
		sum.Sent += o.Sent
		sum.Served += o.Served
		sum.Refused += o.Refused
		sum.GaveUp += o.GaveUp
		sum.Failed += o.Failed
	}
	return sum
}

// Share is what part of the requests was served.
func (o Outcome) Share() float64 { return float64(o.Served) / float64(max(1, o.Sent)) }
