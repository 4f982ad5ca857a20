package flags

import "strings"

// startsWith and endsWith are operators. What is no pair of strings gives null and false: not alike, but so it
// is in flagd.
func startsWith(values, _ any) any {
	text, prefix, ok := twoStrings(values)
	if !ok {
		return nil
	}
	return strings.HasPrefix(text, prefix)
}

func endsWith(values, _ any) any {
	text, suffix, ok := twoStrings(values)
	return ok && strings.HasSuffix(text, suffix)
}

func twoStrings(values any) (a, b string, ok bool) {
	args, _ := values.([]any)
	if len(args) != 2 {
		return "", "", false
	}
	a, isA := args[0].(string)
	b, isB := args[1].(string)
	return a, b, isA && isB
}

// compareVersions is the operator sem_ver; what is no version compares as false.
func compareVersions(values, _ any) any {
	args, _ := values.([]any)
	if len(args) != 3 {
		return false
	}
	left, _ := args[0].(string)
	operator, _ := args[1].(string)
	right, _ := args[2].(string)
	v, ok := parseVersion(left)
	w, okToo := parseVersion(right)
	if !ok || !okToo {
		return false
	}
	switch c := v.compare(w); operator {
	case "=":
		return c == 0
	case "!=":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	case "^":
		return v.numbers[0] == w.numbers[0]
	case "~":
		return v.numbers[0] == w.numbers[0] && v.numbers[1] == w.numbers[1]
	}
	return false
}
