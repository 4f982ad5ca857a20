package flags

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxUnreadTold is how many flags are named; whose file has more has another problem.
const maxUnreadTold = 20

// lister is a Source that knows the keys of its flags.
type lister interface{ Keys() []string }

// Unread names, as of now, what is likely to be misspelt: flags of a Source that lists its Keys, if they begin
// with the prefix and nothing reads them, and names of Config.Defaults that no gate has had. Ask once the
// Stack is built; nil if there is none. From then on it is logged if the flags change and something else is
// unread: a kill switch that is misspelt at 3 a.m. must not be silent. A policy that comes later may still
// read them, so this is not in Err.
func (f *Flags) Unread() error {
	u := f.findUnread()
	f.told(u)
	return f.explain(u)
}

// UnreadCount is how many flags and defaults Unread names, as of now; zero as long as it has not been asked.
func (f *Flags) UnreadCount() int {
	if !f.unreadAsked() {
		return 0
	}
	return len(f.findUnread().names())
}

// reportUnread logs what is newly unread, once Unread has been asked.
func (f *Flags) reportUnread() {
	if !f.unreadAsked() {
		return
	}
	u := f.findUnread()
	before := f.told(u)
	if slices.ContainsFunc(u.names(), func(name string) bool { return !slices.Contains(*before, name) }) {
		f.cfg.Logger.Warn("seawall: flags that nothing reads", "error", f.explain(u).Error())
	}
}

func (f *Flags) unreadAsked() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unreadTold != nil
}

// told remembers of what it was told that nothing reads it, and returns the names that were told before, nil if that was
// never.
func (f *Flags) told(u unread) (before *[]string) {
	names := u.names()
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.unreadTold = f.unreadTold, &names
	return before
}

// unread are flags and defaults that nothing reads, and what is read: keys, and names of gates.
type unread struct{ flags, defaults, keys, gates []string }

func (u unread) names() []string { return slices.Concat(u.flags, u.defaults) }

func (f *Flags) findUnread() (u unread) {
	f.mu.Lock()
	for _, g := range f.flags {
		u.keys = append(u.keys, g.name())
	}
	u.gates = slices.Sorted(maps.Keys(f.gates))
	f.mu.Unlock()
	if l, ok := f.cfg.Source.(lister); ok {
		for _, key := range slices.Compact(slices.Sorted(slices.Values(l.Keys()))) {
			if strings.HasPrefix(key, f.cfg.Prefix+"-") && !slices.Contains(u.keys, key) {
				u.flags = append(u.flags, key)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.cfg.Defaults)) {
		if !slices.Contains(u.gates, name) {
			u.defaults = append(u.defaults, name)
		}
	}
	return u
}

// explain says what nothing reads, where it is and what was probably meant; nil if there is nothing.
func (f *Flags) explain(u unread) error {
	var errs []error
	for _, key := range u.flags[:min(len(u.flags), maxUnreadTold)] {
		errs = append(errs, f.locate(key, fmt.Errorf("%.120s: nothing reads this flag%s", key, nearest(key, u.keys))))
	}
	if more := len(u.flags) - maxUnreadTold; more > 0 {
		errs = append(errs, fmt.Errorf("and %d more", more))
	}
	for _, name := range u.defaults {
		errs = append(errs, fmt.Errorf("flags: Config.Defaults[%q]: no layer or policy has this name%s", name, nearest(name, u.gates)))
	}
	return errors.Join(errs...)
}

// maxSuggested is the longest name that is compared with others: keys have at most 80 letters.
const maxSuggested = 120

// nearest asks whether the word of a list was meant that is fewest edits away, the first of several, unless that is far.
func nearest(word string, list []string) string {
	if len(word) > maxSuggested || len(list) == 0 {
		return ""
	}
	best := slices.MinFunc(list, func(a, b string) int { return edits(word, a) - edits(word, b) })
	if edits(word, best) > max(2, len(word)/4) {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// edits is how many bytes must be added, removed or replaced to make b out of a (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1) // from the a read so far to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
