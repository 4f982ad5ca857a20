package bench

import (
	_ "embed"
	"fmt"

	"github.com/seawall-go/seawall/internal/measured"
)

// Record is what a long run measured.
type Record struct {
	Machine    string    `json:"machine"`
	Processors int       `json:"processors"`
	Redis      string    `json:"redis"`
	Wrk        string    `json:"wrk"`
	Seed       uint64    `json:"seed"` // of the order within the rounds
	Rounds     int       `json:"rounds"`
	RoundMs    int       `json:"round_ms"`
	Minutes    float64   `json:"minutes"`  // that the run took
	Versions   []Version `json:"versions"` // of the peers
	Lines      []Line    `json:"lines"`
	Everybody  []Row     `json:"everybody"` // every limiter that decides in process
	Shedders   []Row     `json:"shedders"`
	Echo       []Row     `json:"echo"` // what a middleware adds to a request
	Growth     []Curve   `json:"growth"`
	Process    []Served  `json:"process"`
	Scale      []Primary `json:"scale"`
}

// Version is a module that was measured.
type Version struct {
	Module  string `json:"module"`
	Version string `json:"version"`
}

// Spread is the median of several rounds, between the quartiles.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Line is what was measured for the target of the same name.
type Line struct {
	Name  string `json:"name"`
	Ours  Spread `json:"ours"`
	Peer  *Other `json:"peer,omitempty"`  // the best
	Limit *Other `json:"limit,omitempty"` // what nothing can be better than
	// Ratio is the median of the ratios within a round, where the target is one.
	Ratio *Spread `json:"ratio,omitempty"`
	Note  string  `json:"note,omitempty"`
}

// Other is somebody else's figure of a line, in its unit.
type Other struct {
	Name   string `json:"name"`
	Figure Spread `json:"figure"`
}

// Row is one of many that do the same.
type Row struct {
	Name   string  `json:"name"`
	Ns     Spread  `json:"ns"`
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes,omitempty"` // that a key takes, its text aside; zero is not measured
}

// Served is what a server did for wrk, in one of its settings.
type Served struct {
	Setting    string  `json:"setting"`
	Work       string  `json:"work"`
	Throughput Spread  `json:"per_second"`
	P50        Spread  `json:"p50_ms"`
	P99        Spread  `json:"p99_ms"`
	CPU        Spread  `json:"cpu_us"`    // of the server, per request
	Allocs     Spread  `json:"allocs"`    // per request
	GC         Spread  `json:"gc_share"`  // of the processor time that the server used
	Fallbacks  float64 `json:"fallbacks"` // share of the decisions that were made without Redis
}

// Primary is what decisions cost one Redis.
type Primary struct {
	Kind  string  `json:"kind"`
	CPU   Spread  `json:"cpu_us"` // of its process, per decision
	Batch float64 `json:"batch"`  // decisions per script call
	In    float64 `json:"in"`     // bytes that it reads per decision
	Out   float64 `json:"out"`    // and that it writes
}

//go:embed measured.json
var committed []byte

// Measured returns the record that is committed.
func Measured() (r Record, err error) {
	if err := measured.Read(committed, &r, "bench-peers"); err != nil {
		return r, fmt.Errorf("bench: %w", err)
	}
	return r, nil
}

// Marshal writes a record so that every line, row and curve is a line.
func (r Record) Marshal() ([]byte, error) {
	return measured.Write(r, `{"module":`, `{"name":`, `{"by":`, `{"setting":`, `{"kind":`)
}

// Line returns what was measured for a target.
func (r Record) Line(name string) (Line, bool) {
	for _, l := range r.Lines {
		if l.Name == name {
			return l, true
		}
	}
	return Line{}, false
}
