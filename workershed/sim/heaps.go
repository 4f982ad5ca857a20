package sim

import "time"

// jobs are a heap of jobs by their end; what ends at once ends in the order in which it began, so that a run is the same each time.
type jobs []*job

func (h jobs) Len() int { return len(h) }

func (h jobs) Less(i, j int) bool {
	return h[i].end < h[j].end || h[i].end == h[j].end && h[i].order < h[j].order
}

func (h jobs) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *jobs) Push(x any)   { *h = append(*h, x.(*job)) } //nolint:forcetypeassert // there is nothing else in it
func (h *jobs) Pop() any     { return pop((*[]*job)(h)) }

// repeats are a heap of calls by when they are repeated.
type repeats []*call

func (h repeats) Len() int { return len(h) }
func (h repeats) Less(i, j int) bool {
	return h[i].due < h[j].due || h[i].due == h[j].due && h[i].began < h[j].began
}
func (h repeats) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *repeats) Push(x any)   { *h = append(*h, x.(*call)) } //nolint:forcetypeassert // there is nothing else in it
func (h *repeats) Pop() any     { return pop((*[]*call)(h)) }

func (h repeats) next() time.Duration {
	if len(h) == 0 {
		return never
	}
	return h[0].due
}

func pop[T any](s *[]*T) *T {
	last := len(*s) - 1
	x := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return x
}
