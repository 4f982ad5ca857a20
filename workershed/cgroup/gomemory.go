package cgroup

import (
	"errors"
	"fmt"
	"math"
	"runtime/metrics"
)

// What is read of the Go runtime. None of it depends on how a version of Go samples something.
const (
	goLimit    = "/gc/gomemlimit:bytes"
	goLive     = "/gc/heap/live:bytes"
	goTotal    = "/memory/classes/total:bytes"
	goReleased = "/memory/classes/heap/released:bytes"
	goObjects  = "/memory/classes/heap/objects:bytes"
	goUnused   = "/memory/classes/heap/unused:bytes"
	goFree     = "/memory/classes/heap/free:bytes"
)

// goMemory measures what the garbage collector cannot free against GOMEMLIMIT.
type goMemory struct{ samples []metrics.Sample }

func newGoMemory() *goMemory {
	names := []string{goLimit, goLive, goTotal, goReleased, goObjects, goUnused, goFree}
	m := &goMemory{samples: make([]metrics.Sample, len(names))}
	for i, name := range names {
		m.samples[i].Name = name
	}
	return m
}

// share is that of the limit which is in use and no garbage. Without a limit it is 0.
func (m *goMemory) share() (float64, error) {
	metrics.Read(m.samples)
	read := make(map[string]float64, len(m.samples))
	for _, s := range m.samples {
		if s.Value.Kind() != metrics.KindUint64 {
			return 0, fmt.Errorf("cgroup: the runtime metric %s has kind %d; expected a whole number, which it was in Go 1.26",
				s.Name, s.Value.Kind())
		}
		read[s.Name] = float64(s.Value.Uint64())
	}
	return shareOfGo(read)
}

// shareOfGo is live objects, as the last collection has found them, and all that is not heap, of the limit.
func shareOfGo(read map[string]float64) (float64, error) {
	limit := read[goLimit]
	switch {
	case limit >= math.MaxInt64:
		return 0, nil
	case limit <= 0:
		return 0, errors.New("cgroup: GOMEMLIMIT is 0 bytes; expected a limit above 0, or none")
	}
	notHeap := read[goTotal] - read[goReleased] - read[goObjects] - read[goUnused] - read[goFree]
	return (read[goLive] + max(0, notHeap)) / limit, nil
}
