package flags

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The order of semver.org, and what flagd takes beyond it.
func TestVersionsInOrder(t *testing.T) {
	t.Parallel()
	order := []string{
		"0", "0.0.1", "v0.9", "1.0.0-0", "1.0.0-9", "1.0.0-10", "1.0.0-1a", "1.0.0-alpha", "1.0.0-alpha.1",
		"1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1", "1.0.1", "1.9.0", "1.10.0",
		"2.0.0-x-y", "2.0.0+build-1.2", "18446744073709551616.0.0", "18446744073709551617.0.0",
	}
	for i, a := range order {
		for j, b := range order {
			v, ok := parseVersion(a)
			assert.True(t, ok, a)
			w, _ := parseVersion(b)
			assert.Equal(t, i < j, v.compare(w) < 0, "%s < %s", a, b)
			assert.Equal(t, i == j, v.compare(w) == 0, "%s = %s", a, b)
		}
	}
	for _, same := range [][2]string{{"1", "v1.0.0"}, {"1.2", "1.2.0"}, {"1.0.0+a", "1.0.0+b"}} {
		assert.Equal(t, true, compareVersions([]any{same[0], "=", same[1]}, nil), same)
	}
}

func TestWhatIsNoVersion(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "v", "vv1", "V1", "1.", ".1", "1..2", "1.2.3.4", "01", "1.02", "1.2.03", "-1", "1-a", "1.2-a", "1.2+a", "1.2.3-", "1.2.3+",
		"1.2.3-a..b", "1.2.3-01", "1.2.3-a_b", "1.2.3+a..b", "1.2.3+a+b", "1.2.3 ", "a", "1.x",
	} {
		assert.False(t, isVersion(text), "%q", text)
		assert.Equal(t, false, compareVersions([]any{text, "!=", "1.2.3"}, nil))
	}
}

func TestVersionOperators(t *testing.T) {
	t.Parallel()
	for operator, want := range map[string][]bool{ // compared with 1.2.3, which is before 1.2.4, 1.3.0 and 2.0.0
		"=": {true, false, false, false}, "!=": {false, true, true, true},
		"<": {false, true, true, true}, "<=": {true, true, true, true},
		">": {false, false, false, false}, ">=": {true, false, false, false},
		"^": {true, true, true, false}, "~": {true, true, false, false}, "==": {false, false, false, false},
	} {
		for i, other := range []string{"1.2.3", "1.2.4", "1.3.0", "2.0.0"} {
			assert.Equal(t, want[i], compareVersions([]any{"1.2.3", operator, other}, nil), "1.2.3 %s %s", operator, other)
		}
		assert.Equal(t, operator != "==", slices.Contains(versionOperators(), operator))
	}
}
