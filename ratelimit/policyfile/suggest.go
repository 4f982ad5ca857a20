package policyfile

import (
	"strconv"
	"strings"
)

// maxSlips is how many slips make a word of another.
const maxSlips = 2

// maxListed is how many alternatives an error lists.
const maxListed = 16

// wanted names what was probably meant instead of s, or else all that would be right. It is looked for when it is
// printed, since a file can have more errors than are told.
func wanted(s string, known []string) wish { return wish{s, func() []string { return known }} }

type wish struct {
	instead string
	of      func() []string
}

func (w wish) String() string {
	s, known := w.instead, w.of()
	switch best := nearest(s, known); {
	case best != "":
		return strconv.Quote(best)
	case len(known) > maxListed:
		return list(known[:maxListed], "or") + " and so on"
	}
	return list(known, "or")
}

// nearest returns what was probably meant instead of s, or "". Two slips make a word, three are another word.
func nearest(s string, known []string) string {
	best, least := "", maxSlips+1
	for _, k := range known {
		if d := distance(strings.ToLower(s), k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// list joins words as people do.
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// distance is how many letters must be put in, left out, exchanged, or swapped with the next to make b of a.
// What is too long to be a slip is far away.
func distance(a, b string) int {
	if len(a) > len(b)+maxSlips || len(b) > len(a)+maxSlips {
		return maxSlips + 1
	}
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			same := 1
			if a[i] == b[j] {
				same = 0
			}
			row[j+1] = min(last[j]+same, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
