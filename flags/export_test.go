package flags

// Remembered is of how many callers the modes are remembered.
func (f *Flags) Remembered() int {
	f.callers.known.CleanUp()
	return f.callers.known.EstimatedSize()
}

// Waiting is how many callers wait for an evaluation.
func (f *Flags) Waiting() int { return len(f.callers.arrivals) }

// Busy tells whether a caller waits, or is being evaluated.
func (f *Flags) Busy() bool {
	for i := range f.callers.waiting {
		if f.callers.waiting[i].Load() {
			return true
		}
	}
	return false
}

var (
	Edits       = edits
	MaxArrivals = maxArrivals
)
