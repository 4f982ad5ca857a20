package policyfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// maxErrors bounds what is said of one file.
const maxErrors = 20

// report collects what is wrong with a file.
type report struct {
	file  string
	lines int // of the file; what is missing at its end is missing on the last
	found []problem
	more  int // that are not in found

	costed []string // routes that have a cost
}

type problem struct {
	line int
	text string
}

// enough tells whether nothing more is told, and counts what is not, so that nobody need word it.
func (r *report) enough() bool {
	if len(r.found) < maxErrors {
		return false
	}
	r.more++
	return true
}

func (r *report) add(line int, format string, args ...any) {
	if r.enough() {
		return
	}
	r.found = append(r.found, problem{max(1, min(line, r.lines)), fmt.Sprintf(format, args...)})
}

func (r *report) empty() bool { return len(r.found) == 0 }

// err returns all that is wrong, in the order of the lines, or nil.
func (r *report) err() error {
	slices.SortStableFunc(r.found, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	var errs []error
	for _, p := range r.found {
		errs = append(errs, fmt.Errorf("%s:%d: %s", r.file, p.line, p.text))
	}
	if r.more > 0 {
		errs = append(errs, fmt.Errorf("%s: and %d more errors", r.file, r.more))
	}
	return errors.Join(errs...)
}
