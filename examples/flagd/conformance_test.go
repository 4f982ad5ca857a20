package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	flagd "github.com/open-feature/go-sdk-contrib/providers/flagd/pkg"
	"github.com/open-feature/go-sdk/openfeature"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/flags"
)

// rules use every operator at least once. A result that names no variant is an error in both providers.
var rules = map[string]string{
	"var":                       `{"var": "plan"}`,
	"var with a default":        `{"var": ["nothing", "b"]}`,
	"var by path":               `{"var": "account.plan"}`,
	"var by index":              `{"var": "plans.1"}`,
	"var of everything":         `{"if": [{"var": ""}, "a", "b"]}`,
	"flag key":                  `{"if": [{"==": [{"var": "$flagd.flagKey"}, "flag key"]}, "a", "b"]}`,
	"timestamp":                 `{"if": [{"<": [1e9, {"var": "$flagd.timestamp"}, 1e10]}, "a", "b"]}`,
	"missing":                   `{"if": [{"missing": ["plan", "beta"]}, "a", "b"]}`,
	"missing one":               `{"if": [{"missing": "beta"}, "a", "b"]}`,
	"missing_some":              `{"if": [{"missing_some": [1, ["beta", "spend"]]}, "a", "b"]}`,
	"if":                        `{"if": [{"var": "beta"}, "a", {"==": [{"var": "plan"}, "gold"]}, "b"]}`,
	"if alone":                  `{"if": ["a"]}`,
	"if null":                   `{"if": [{"var": "beta"}, null, "b"]}`,
	"?:":                        `{"?:": [{"var": "beta"}, "a", "b"]}`,
	"==":                        `{"==": [{"var": "spend"}, "7"]}`,
	"== null":                   `{"==": [{"var": "beta"}, null]}`,
	"===":                       `{"===": [{"var": "spend"}, 7]}`,
	"!=":                        `{"!=": [{"var": "plan"}, "gold"]}`,
	"!==":                       `{"!==": [{"var": "spend"}, "7"]}`,
	">":                         `{">": [{"var": "spend"}, 10]}`,
	">=":                        `{">=": [{"var": "spend"}, {"var": "limit"}]}`,
	"<":                         `{"<": [{"var": "plan"}, "h"]}`,
	"<=":                        `{"<=": [{"var": "spend"}, 10]}`,
	"< between":                 `{"<": [3, {"var": "spend"}, 9]}`,
	"<= between":                `{"<=": [3, {"var": "spend"}, 9]}`,
	"> between":                 `{">": [9, {"var": "spend"}, 3]}`,
	"!":                         `{"!": [{"var": "beta"}]}`,
	"! bare":                    `{"!": {"var": "beta"}}`,
	"!!":                        `{"!!": [{"var": "plans"}]}`,
	"and":                       `{"if": [{"and": [{"var": "beta"}, {">": [{"var": "spend"}, 5]}]}, "a", "b"]}`,
	"and as a result":           `{"and": [{"var": "beta"}, {"var": "spend"}, "a"]}`,
	"or":                        `{"or": [{"var": "nothing"}, {"var": "beta"}, "a"]}`,
	"in a list":                 `{"in": [{"var": "plan"}, ["gold", "silver"]]}`,
	"in a text":                 `{"in": ["ol", {"var": "plan"}]}`,
	"in an attribute":           `{"in": ["gold", {"var": "plans"}]}`,
	"in ranges":                 `{"in": [{"var": "spend"}, [[0, 3], 5, [7, 9]]]}`,
	"cat":                       `{"cat": [{"substr": [{"var": "plan"}, 0, 1]}, ""]}`,
	"substr":                    `{"if": [{"==": [{"substr": [{"var": "plan"}, -2]}, "ld"]}, "a", "b"]}`,
	"%":                         `{"%": [{"var": "spend"}, 3]}`,
	"+":                         `{"+": [{"var": "spend"}, 1]}`,
	"+ bare":                    `{"if": [{"==": [{"+": "3"}, {"var": "spend"}]}, "a", "b"]}`,
	"-":                         `{"-": [{"var": "spend"}, 1]}`,
	"- bare":                    `{"if": [{"<": [{"-": {"var": "spend"}}, -8]}, "a", "b"]}`,
	"*":                         `{"*": [{"var": "spend"}, 0.5, 2]}`,
	"/":                         `{"/": [{"var": "spend"}, {"var": "limit"}]}`,
	"max":                       `{"if": [{"==": [{"max": [{"var": "spend"}, 7]}, 7]}, "a", "b"]}`,
	"min":                       `{"min": [{"var": "spend"}, 2]}`,
	"abs":                       `{"abs": {"-": [{"var": "spend"}, 5]}}`,
	"merge":                     `{"in": [{"var": "plan"}, {"merge": [{"var": "plans"}, ["lead"]]}]}`,
	"map":                       `{"in": [4, {"map": [{"var": "numbers"}, {"*": [{"var": ""}, 2]}]}]}`,
	"filter":                    `{"if": [{"filter": [{"var": "numbers"}, {">": [{"var": ""}, 7]}]}, "a", "b"]}`,
	"reduce":                    `{"reduce": [{"var": "numbers"}, {"%": [{"+": [{"var": "current"}, {"var": "accumulator"}]}, 4]}, 0]}`,
	"all":                       `{"all": [{"var": "numbers"}, {"<": [{"var": ""}, 8]}]}`,
	"none":                      `{"none": [{"var": "numbers"}, {"===": [{"var": ""}, 3]}]}`,
	"some":                      `{"some": [{"var": "numbers"}, {">=": [{"var": ""}, 9]}]}`,
	"set":                       `{"if": [{"set": [{"var": "account"}, "plan", "x"]}, "a", "b"]}`,
	"starts_with":               `{"if": [{"starts_with": [{"var": "targetingKey"}, "a"]}, "a", "b"]}`,
	"starts_with as a result":   `{"starts_with": [{"var": "plan"}, "g"]}`,
	"ends_with":                 `{"ends_with": [{"var": "plan"}, {"var": "suffix"}]}`,
	"sem_ver =":                 `{"sem_ver": [{"var": "version"}, "=", "1.2.3"]}`,
	"sem_ver !=":                `{"sem_ver": [{"var": "version"}, "!=", "1.2.3"]}`,
	"sem_ver <":                 `{"sem_ver": [{"var": "version"}, "<", {"var": "other"}]}`,
	"sem_ver <=":                `{"sem_ver": [{"var": "version"}, "<=", {"var": "other"}]}`,
	"sem_ver >":                 `{"sem_ver": [{"var": "version"}, ">", {"var": "other"}]}`,
	"sem_ver >=":                `{"sem_ver": [{"var": "version"}, ">=", "1.2.3-rc.1"]}`,
	"sem_ver ^":                 `{"sem_ver": [{"var": "version"}, "^", {"var": "other"}]}`,
	"sem_ver ~":                 `{"sem_ver": [{"var": "version"}, "~", {"var": "other"}]}`,
	"fractional":                `{"fractional": [["a", 10], ["b", 90]]}`,
	"fractional without weight": `{"fractional": [["a"], ["b"], ["true"]]}`,
	"fractional by plan":        `{"fractional": [{"var": "plan"}, ["a", 50], ["b", 50]]}`,
	"fractional by salt":        `{"fractional": [{"cat": ["salt", {"var": "targetingKey"}]}, ["a", 1], ["b", 2], ["false", 3], ["1"]]}`,
	"fractional by number":      `{"fractional": [{"var": "spend"}, ["a", 50], ["b", 50]]}`,
	"fractional by flag":        `{"fractional": [{"cat": [{"var": "$flagd.flagKey"}, {"var": "version"}]}, ["a", 33], ["b", 33], ["true", 34]]}`,
	"fractional with zeros":     `{"fractional": [["a", 0], ["b", 7], ["a", 0], ["true", 13]]}`,
	"fractional for a literal":  `{"fractional": ["everybody", ["a", 50], ["b", 50]]}`,
	"fractional as groups":      `{"if": [{"in": [{"fractional": [["x"], ["y"], ["z"]]}, ["x", "y"]]}, "a", "b"]}`,
	"fractional in a filter":    `{"if": [{"filter": [{"var": "plans"}, {"fractional": [["a"], ["b"]]}]}, "a", "b"]}`,
	"reference":                 `{"if": [{"$ref": "paying"}, {"$ref": "ramp"}, "b"]}`,
	"reference as a whole":      `{"$ref": "ramp"}`,
	"nothing":                   `{}`,
	"rules in lists stay":       `{"in": ["gold", [{"var": "plan"}, "x"]]}`,
}

const evaluators = `{
  "paying": {"in": [{"var": "plan"}, ["gold", "silver"]]},
  "ramp": {"fractional": [{"var": "account.plan"}, ["a", 20], ["true", 80]]}
}`

// file is a flag file with one flag for each rule.
func file(rules map[string]string) string {
	flags := make([]string, 0, len(rules))
	for name, rule := range rules {
		flags = append(flags, fmt.Sprintf(`    %q: {
      "state": "ENABLED",
      "variants": {"a": "A", "b": "B", "c": "C", "true": "T", "false": "F", "0": "ZERO", "1": "ONE", "0.5": "HALF"},
      "defaultVariant": "c",
      "targeting": %s
    }`, name, rule))
	}
	return "{\n  \"$evaluators\": " + evaluators + ",\n  \"flags\": {\n" + strings.Join(flags, ",\n") + "\n  }\n}\n"
}

// somebody is a random context.
func somebody(r *rand.Rand) openfeature.FlattenedContext {
	pick := func(from ...any) any { return from[r.IntN(len(from))] }
	version := func() any {
		return fmt.Sprintf("%v%d.%d.%d%v", pick("", "v"), r.IntN(3), r.IntN(3), r.IntN(4), pick("", "", "", "-rc.1", "-rc.10", "+b", "-01"))
	}
	key := make([]byte, r.IntN(12))
	for i := range key {
		key[i] = byte(r.IntN(256)) // bytes that are no UTF-8 as well
	}
	values := map[string]any{
		"targetingKey": pick(string(key), fmt.Sprint("acme-", r.Uint32()), r.IntN(9)),
		"plan":         pick("gold", "silver", "a", "b", "free", "true", 7, true, nil),
		"account":      pick(map[string]any{"plan": pick("a", "b", 3)}, "none", map[string]any{"var": "plan"}, map[string]any{"x": 1, "y": nil}),
		"plans":        pick([]string{"gold", "b"}, []any{"x", 3, nil}, []any{}, "gold"),
		"numbers":      pick([]int{1, 2, 3}, []float64{0.5, 9}, []any{}, []any{8, "3", nil}),
		"beta":         pick(true, false, 0, "", "yes", nil),
		"spend":        pick(r.IntN(12), r.Float64()*12, fmt.Sprint(r.IntN(12)), int64(7), uint8(7)),
		"limit":        pick(0, 2, 7, "7", true),
		"version":      pick(version(), version(), version(), "1.2.3", "1.2", "v1", "1.2.x", "", 1.2),
		"other":        pick(version(), version(), version(), "1", "x"),
		"suffix":       pick("ld", "", 1),
	}
	c := openfeature.FlattenedContext{}
	for _, name := range slices.Sorted(maps.Keys(values)) { // in a stated order, or one seed would be many runs
		if r.IntN(8) > 0 {
			c[name] = values[name]
		}
	}
	return c
}

// relevant leaves out what a rule does not look at: both providers turn all of it into JSON and back, which
// would take most of the time.
func relevant(c openfeature.FlattenedContext, rule string) openfeature.FlattenedContext {
	some := openfeature.FlattenedContext{}
	for name, value := range c {
		if name == "targetingKey" || strings.Contains(rule, name) || strings.Contains(rule, "$ref") && strings.Contains(evaluators, name) {
			some[name] = value
		}
	}
	return some
}

// both are the two providers of one file.
type both struct {
	real openfeature.FeatureProvider
	ours *flags.FileProvider
}

// serve starts flagd's provider first: it registers its operators where ours are read.
func serve(t *testing.T, text string) both {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flags.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	theirs, err := newSilently(path)
	require.NoError(t, err)
	require.NoError(t, theirs.Init(openfeature.EvaluationContext{}))
	t.Cleanup(theirs.Shutdown)
	ours, err := flags.NewFileProvider(path, nil)
	require.NoError(t, err)
	t.Cleanup(ours.Shutdown)
	return both{theirs, ours}
}

// newSilently makes flagd's provider without its log: it has no option for that, writes a line and a stack for
// much of what random contexts are about, and takes os.Stderr as it is when it is made.
func newSilently(path string) (*flagd.Provider, error) {
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func(stderr *os.File) { os.Stderr = stderr }(os.Stderr)
	os.Stderr = nowhere
	return flagd.NewProvider(flagd.WithInProcessResolver(), flagd.WithOfflineFilePath(path))
}

// verdict is what users see of an evaluation.
type verdict struct {
	variant, value string
	reason         openfeature.Reason
	failed         openfeature.ErrorCode
}

func ask(p openfeature.FeatureProvider, flag string, c openfeature.FlattenedContext) verdict {
	d := p.StringEvaluation(context.Background(), flag, "fallback", maps.Clone(c))
	return verdict{d.Variant, d.Value, d.Reason, d.ResolutionDetail().ErrorCode}
}

func TestBothProvidersChooseAlike(t *testing.T) {
	names := slices.Sorted(maps.Keys(rules))
	b := serve(t, file(rules))
	require.Equal(t, names, b.ours.Keys())
	const seed = 28
	contexts := 300
	if os.Getenv("SEAWALL_PROOF") == "long" {
		contexts = 5000
	}
	r := rand.New(rand.NewPCG(seed, seed))
	results := map[string]map[string]int{}
	for _, name := range names {
		results[name] = map[string]int{}
	}
	for i := range contexts {
		c := somebody(r)
		for _, name := range names {
			seen := relevant(c, rules[name])
			want := ask(b.real, name, seen)
			if got := ask(b.ours, name, seen); got != want {
				text, _ := json.Marshal(seen)
				t.Fatalf("context %d of seed %d, rule %q: %s\n%s\nours:  %+v\nflagd: %+v", i, seed, name, rules[name], text, got, want)
			}
			results[name][want.variant]++
		}
	}
	for name, variants := range results {
		if !slices.Contains(constant(), name) {
			assert.Greater(t, len(variants), 1, "rule %q had only one result: %v", name, variants)
		}
	}
	t.Logf("%d rules, %d contexts: %d evaluations by each provider", len(names), contexts, len(names)*contexts)
}

// constant are the rules whose result does not depend on the context.
func constant() []string {
	return []string{"flag key", "timestamp", "if alone", "nothing", "var with a default", "fractional for a literal", "rules in lists stay", "var of everything"}
}

// What one provider does has no effect on the other: the registry of operators is one for the process.
func TestTheProvidersKeepApart(t *testing.T) {
	rule := map[string]string{"f": rules["fractional"]}
	b := serve(t, file(rule))
	c := openfeature.FlattenedContext{"targetingKey": "acme"}
	before := ask(b.ours, "f", c)
	other := serve(t, file(rule)) // registers flagd's operators again
	for range 100 {
		require.Equal(t, before, ask(b.ours, "f", c))
		require.Equal(t, before, ask(other.ours, "f", c))
		require.Equal(t, before, ask(b.real, "f", c))
		require.Equal(t, before, ask(other.real, "f", c))
	}
}
