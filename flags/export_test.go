package flags

// Remembered is of how many callers the modes are remembered.
func (f *Flags) Remembered() int {
	f.callers.known.CleanUp()
	return f.callers.known.EstimatedSize()
}

// Waiting is how many callers wait for an evaluation.
func (f *Flags) Waiting() int { return len(f.callers.arrivals) }

var (
	Edits       = edits
	MaxArrivals = maxArrivals
)
