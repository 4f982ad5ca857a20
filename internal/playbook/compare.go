package playbook

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// varying are the headings of columns whose numbers depend on how fast the machine is.
var varying = []string{
	"allowed", "denied", "would_deny", "skipped", // of /seawall/
	"REFUSED", "WOULD REFUSE", "SHARE", mean, "PEAK/S", "OF THE LAST", "ENOUGH", // of a report
}

// mean is the heading of one that has no number, either, if all was over fast.
const mean = "MEAN/S"

// whole are those of a row that are the parts of a whole.
var whole = []string{"allowed", "denied", "would_deny", "skipped"}

var (
	clock = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?` +
		`|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`)
	inParens = regexp.MustCompile(`\((\d+h)?(\d+m)?\d+(\.\d+)?(ms|µs|s)\)`)
	atMost   = regexp.MustCompile(`\bat most \d+ times\b`)
	number   = regexp.MustCompile(`\d+(\.\d+)?`)
	code     = regexp.MustCompile(`^ *(\d+) (\d{3})$`)
	gap      = regexp.MustCompile(` {2,}`)
	blanks   = regexp.MustCompile(` +`)
	word     = regexp.MustCompile(`…`)
	waits    = regexp.MustCompile(`\b(retry_after|kept_back)=\S+`)
)

// Compare returns in what a command's output is not what the page says; see the package documentation.
func Compare(page, output []string) error {
	want, got := canonical(page), canonical(output)
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return fmt.Errorf("the page does not have %q, in all:\n%s", got[i], strings.Join(output, "\n"))
		case i >= len(got):
			return fmt.Errorf("the page has %q, which was not printed, but:\n%s", want[i], strings.Join(output, "\n"))
		case want[i] != got[i]:
			return fmt.Errorf("the page has %q, but printed was %q, in all:\n%s", want[i], got[i], strings.Join(output, "\n"))
		}
	}
	return nil
}

// canonical is an output in the form that outputs have in common that are as good as each other.
func canonical(lines []string) []string {
	var all, heading []string
	codes, total := 0, 0
	for _, line := range lines {
		line = strings.TrimRight(line, " \r")
		line = clock.ReplaceAllString(line, "TIME")
		line = inParens.ReplaceAllString(line, "(DURATION)")
		line = atMost.ReplaceAllStringFunc(line, mask)
		cells := gap.Split(strings.TrimSpace(line), -1)
		switch m := code.FindStringSubmatch(line); {
		case m != nil:
			n, _ := strconv.Atoi(m[1])
			codes, total = codes+1, total+n
			all = append(all, mask(m[1])+" "+m[2])
		case isHeading(cells):
			heading = cells
			all = append(all, strings.Join(cells, " | "))
		case line != "" && len(cells) == len(heading):
			all = append(all, row(heading, cells))
		default:
			if line == "" {
				heading = nil
			}
			all = append(all, blanks.ReplaceAllString(strings.TrimSpace(line), " "))
		}
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if codes > 0 {
		all = append(all, fmt.Sprintf("%d answers in all", total))
	}
	return all
}

// isHeading tells whether a line names columns that vary.
func isHeading(cells []string) bool {
	return len(cells) > 1 && slices.ContainsFunc(cells, func(c string) bool { return slices.Contains(varying, c) })
}

// row is a row of a table.
func row(heading, cells []string) string {
	parts, sum := 0, 0
	for i, name := range heading {
		if slices.Contains(whole, name) {
			if n, err := strconv.Atoi(cells[i]); err == nil {
				parts, sum = parts+1, sum+n
			}
		}
		switch {
		case name == mean:
			cells[i] = "#"
		case slices.Contains(varying, name):
			cells[i] = mask(cells[i])
		}
	}
	text := strings.Join(cells, " | ")
	if parts == len(whole) {
		text += fmt.Sprintf(" | %d in all", sum)
	}
	return text
}

// mask replaces the numbers that are not zero.
func mask(text string) string {
	return number.ReplaceAllStringFunc(text, func(n string) string {
		if strings.Trim(n, "0.") == "" {
			return "0"
		}
		return "#"
	})
}

// Logged tells whether one of the lines logged is the page's, whenever it was logged, however long something was to wait
// and however many lines were kept back.
func Logged(page string, log []string) bool {
	parts := word.Split(waits.ReplaceAllString(page, "$1="), -1)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	line := regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d ` + strings.Join(parts, `\S+`) + `$`)
	return slices.ContainsFunc(log, func(logged string) bool { return line.MatchString(waits.ReplaceAllString(logged, "$1=")) })
}
