package flags

import (
	"cmp"
	"slices"
	"strings"
)

// version is a semantic version without its build, which does not count. As in flagd, a v before it and
// missing minor and patch numbers are fine: v1, 1.2.
type version struct {
	numbers    [3]string // major, minor, patch: digits without leading zeros, of any length
	prerelease []string
}

func versionOperators() []string { return []string{"=", "!=", "<", "<=", ">", ">=", "^", "~"} }

func isVersionOperator(text string) bool { return slices.Contains(versionOperators(), text) }

func isVersion(text string) bool {
	_, ok := parseVersion(text)
	return ok
}

func parseVersion(text string) (v version, ok bool) {
	rest, build, hasBuild := strings.Cut(strings.TrimPrefix(text, "v"), "+")
	core, prerelease, hasPrerelease := strings.Cut(rest, "-")
	numbers := strings.Split(core, ".")
	if len(numbers) > len(v.numbers) || (hasBuild || hasPrerelease) && len(numbers) < len(v.numbers) {
		return v, false
	}
	v.numbers = [3]string{"0", "0", "0"}
	for i, n := range numbers {
		if !isDigits(n) || hasLeadingZero(n) {
			return v, false
		}
		v.numbers[i] = n
	}
	if hasBuild && !areIdentifiers(strings.Split(build, ".")) {
		return v, false
	}
	if hasPrerelease {
		v.prerelease = strings.Split(prerelease, ".")
		if !areIdentifiers(v.prerelease) || slices.ContainsFunc(v.prerelease, hasLeadingZero) {
			return v, false
		}
	}
	return v, true
}

// compare is negative, 0 or positive, by the precedence of semver.org.
func (v version) compare(w version) int {
	for i := range v.numbers {
		if c := compareDigits(v.numbers[i], w.numbers[i]); c != 0 {
			return c
		}
	}
	if (v.prerelease == nil) != (w.prerelease == nil) { // 1.0.0-rc is before 1.0.0
		if v.prerelease == nil {
			return 1
		}
		return -1
	}
	return slices.CompareFunc(v.prerelease, w.prerelease, func(a, b string) int {
		switch x, y := isDigits(a), isDigits(b); {
		case x && y:
			return compareDigits(a, b)
		case x:
			return -1
		case y:
			return 1
		}
		return cmp.Compare(a, b)
	})
}

func compareDigits(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

func hasLeadingZero(text string) bool {
	return len(text) > 1 && text[0] == '0' && isDigits(text)
}

func areIdentifiers(all []string) bool {
	return !slices.ContainsFunc(all, func(text string) bool {
		return text == "" || strings.ContainsFunc(text, func(c rune) bool {
			return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-'
		})
	})
}
