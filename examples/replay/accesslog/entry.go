package accesslog

import "time"

// Entry is one request of a log. Its slices are valid until the next call of Next.
type Entry struct {
	Start   int64         // when the request began, in nanoseconds since the epoch; never negative, nor is Start + Took too great
	Took    time.Duration // how long it took; negative if the log does not say
	Address []byte        // of the client, without a port
	User    []byte        // who has authenticated; empty if nobody
	Method  []byte        // empty if the log has none
	Path    []byte        // without query and fragment; empty if the log has none
	Field   []byte        // the value of Options.Field; empty if absent
}

// Options say what a log is, and what is wanted of it.
type Options struct {
	// Format is one of Formats, or "" or "auto": recognised by the first lines.
	Format string
	// Field is a further field wanted in Entry.Field, by the log's own name for it; "" is none. In JSON it may be a dotted
	// path of names, which may contain dots themselves; of a list it is the first element. See the package for the others.
	Field string
	// Private keeps what lines say out of errors and bad lines: for logs that hold keys or names of users.
	Private bool
	// Done ends reading when it is closed: Err is ErrDone then. Nil is never.
	Done <-chan struct{}
}

// BadLine is a line that is no request.
type BadLine struct {
	Number int64  // of the line in the file, from 1
	Text   string // how it begins: at most 80 characters, all printable ASCII; of a private log not shown
	Why    string
}

// span notes a request that began then and, if took is not negative, took so long.
func (e *Entry) span(start, took int64) (why string) {
	if took >= 0 && start > maxTime-took {
		return badTime
	}
	e.Start, e.Took = start, time.Duration(took)
	return ""
}

// until notes a request that had ended then; if took is negative, then is all that is known.
func (e *Entry) until(end, took int64) (why string) {
	if took > end {
		return badTime
	}
	e.Start, e.Took = end-max(0, took), time.Duration(took)
	return ""
}
