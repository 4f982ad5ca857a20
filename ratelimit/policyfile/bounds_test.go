package policyfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/ratelimit/policyfile"
)

// many joins what line makes of 0 to n-1.
func many(n int, line func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
	}
	return b.String()
}

func TestBounds(t *testing.T) {
	t.Parallel()
	policies := func(n int) string {
		return head + many(n, func(i int) string { return fmt.Sprintf("  - {name: p%d, log: {limit: 1, window: 1s}}\n", i) })
	}
	plans := func(n int) string {
		return one("plans:") + many(n, func(i int) string { return fmt.Sprintf("      p%d: {bucket: {rate: 1/s, burst: 1}}\n", i) })
	}
	routes := func(n int) string { return one("routes:") + strings.Repeat("      - /a\n", n) }
	costs := func(n int) string {
		return one("cost:") + many(n, func(i int) string { return fmt.Sprintf("      /%d: 1\n", i) })
	}
	large := func(n int) string { return one() + strings.Repeat("#", n-len(one())) }
	for _, c := range []struct {
		most string
		over string
		want string
	}{
		{policies(16), policies(17), "p.yaml:3: ratelimit: Policies has 17 policies; want at most 16"},
		{plans(1000), plans(1001), `p.yaml:3: policy "api": Plans has 1001 plans; want at most 1000`},
		{routes(1000), routes(1001), `p.yaml:6: policy "api": routes has 1001 routes; want at most 1000`},
		{costs(1000), costs(1001), `p.yaml:6: policy "api": cost has 1001 routes; want at most 1000`},
		{large(1 << 20), large(1<<20 + 1), "p.yaml:1: the file has 1048577 bytes; want at most 1048576"},
	} {
		_, err := policyfile.Parse("p.yaml", []byte(c.most))
		require.NoError(t, err)
		_, err = policyfile.Parse("p.yaml", []byte(c.over))
		assert.EqualError(t, err, c.want)
	}
}

func TestOnlyTheFirstErrorsAreTold(t *testing.T) {
	t.Parallel()
	_, err := policyfile.Parse("p.yaml", []byte(one("routes:")+strings.Repeat("      - 7\n", 30)))
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 21)
	assert.Contains(t, lines[19], `p.yaml:25: policy "api": routes[19] is 7; want`)
	assert.Equal(t, "p.yaml: and 10 more errors", lines[20])
	_, err = policyfile.Parse("p.yaml", []byte(one("callers: "+strings.Repeat("x", 100_000))))
	assert.Less(t, len(err.Error()), 200, "what is quoted is cut")
}

// What makes parsers hang, explode or overflow their stack ends soon, and as an error.
func TestBombs(t *testing.T) {
	t.Parallel()
	const full = 1 << 18
	fill := func(s string) string { return strings.Repeat(s, full/len(s)) }
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + many(30, func(i int) string {
		return fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i, i, i)
	})
	for name, text := range map[string]string{
		"billion laughs":      laughs,
		"an alias in itself":  "a: &a [*a]",
		"brackets":            fill("["),
		"braces":              fill("{"),
		"flow maps":           fill("{a: "),
		"block lists":         fill("- "),
		"explicit keys":       fill("? "),
		"indentation":         many(1000, func(i int) string { return strings.Repeat(" ", i) + "a:\n" }),
		"anchors":             fill("&a "),
		"tags":                fill("!a "),
		"directives":          fill("%TAG !a! b\n"),
		"documents":           fill("---\n"),
		"equal keys":          fill("a:\n"),
		"keys without values": "{" + fill("a,")[:full-2] + "}",
		"policies":            head + many(10_000, func(int) string { return " - {name: a}\n" }),
		"overrides":           one("overrides:") + many(10_000, func(int) string { return "      - {caller: a}\n" }),
		"quotes":              "a: " + fill(`"`)[:full-3],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := policyfile.Parse("p.yaml", []byte(text))
			require.ErrorContains(t, err, "p.yaml:")
			assert.Less(t, len(err.Error()), 4000)
		})
	}
}

// As many overrides as a file holds are looked up like one.
func TestManyOverrides(t *testing.T) {
	text := one("overrides:") + many(20_000, func(i int) string { return fmt.Sprintf("      - {caller: [user, \"%d\"], plan: block}\n", i) })
	f, err := policyfile.Parse("p.yaml", []byte(text))
	require.NoError(t, err)
	p := f.Policies()[0]
	first, last, none := request("0"), request("19999"), request("20000")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if p.Plan(first) != ratelimit.PlanBlock || p.Plan(last) != ratelimit.PlanBlock || p.Plan(none) != "" {
			panic("another plan")
		}
	}))
}

func request(user string) *seawall.Request {
	return &seawall.Request{Key: seawall.NewKey("user", user)}
}

// TestManyWrongPlansAreToldQuickly renames a thousand plans, but not in the overrides.
func TestManyWrongPlansAreToldQuickly(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(head + "  - name: api\n    bucket: {rate: 1/s, burst: 1}\n    plans:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "      plan-of-many-letters-%d: {bucket: {rate: 1/s, burst: 1}}\n", i)
	}
	b.WriteString("    overrides:\n")
	for i := range 8000 {
		fmt.Fprintf(&b, "      - {caller: a%d, plan: plan-of-many-lettres-x%d}\n", i, i)
	}
	_, err := policyfile.Parse("policies.yaml", []byte(b.String())) // which took minutes when each was worded
	require.ErrorContains(t, err, "and 7980 more errors")
}
