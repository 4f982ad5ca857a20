package flags_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// targeted is a flag file whose flag "f" has this targeting, on line 5, and these evaluators, on line 2.
func targeted(targeting, evaluators string) string {
	return `{
  "$evaluators": {` + evaluators + `},
  "flags": {
    "f": {
      "targeting": ` + targeting + `,
      "state": "ENABLED",
      "variants": {"a": "A", "b": "B", "c": "C", "true": "T", "1": "ONE"},
      "defaultVariant": "c"
    }
  }
}
`
}

func serve(t testing.TB, text string) *flags.FileProvider {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, text)
	p, err := flags.NewFileProvider(path, quiet())
	require.NoError(t, err)
	t.Cleanup(p.Shutdown)
	return p
}

type attributes = openfeature.FlattenedContext

func TestTargetingChoosesAVariant(t *testing.T) {
	t.Parallel()
	const isGold = `"gold": {"==": [{"var": "plan"}, "gold"]}`
	for name, c := range map[string]struct {
		targeting, evaluators string
		context               attributes
		variant, reason       string
	}{
		"a branch":              {`{"if": [{"==": [{"var": "plan"}, "gold"]}, "a", "b"]}`, "", attributes{"plan": "gold"}, "a", "TARGETING_MATCH"},
		"the other branch":      {`{"if": [{"==": [{"var": "plan"}, "gold"]}, "a", "b"]}`, "", nil, "b", "TARGETING_MATCH"},
		"no branch":             {`{"if": [{"==": [{"var": "plan"}, "gold"]}, "a"]}`, "", attributes{}, "c", "DEFAULT"},
		"null":                  {`{"if": [true, null, "a"]}`, "", nil, "c", "DEFAULT"},
		"the default, chosen":   {`{"if": [true, "c"]}`, "", nil, "c", "TARGETING_MATCH"},
		"none":                  {`null`, "", nil, "c", "STATIC"},
		"an empty one":          {`{}`, "", nil, "c", "STATIC"},
		"true":                  {`{"==": [{"var": "plan"}, "gold"]}`, "", attributes{"plan": "gold"}, "true", "TARGETING_MATCH"},
		"a number":              {`{"+": [{"var": "n"}, 0]}`, "", attributes{"n": 1}, "1", "TARGETING_MATCH"},
		"an evaluator":          {`{"if": [{"$ref": "gold"}, "a", "b"]}`, isGold, attributes{"plan": "gold"}, "a", "TARGETING_MATCH"},
		"one that refers":       {`{"if": [{"$ref": "not"}, "a", "b"]}`, `"not": {"!": {"$ref": "gold"}}, ` + isGold, attributes{"plan": "gold"}, "b", "TARGETING_MATCH"},
		"all of it":             {`{"$ref": "whole"}`, `"whole": {"if": [true, "a"]}`, nil, "a", "TARGETING_MATCH"},
		"starts_with":           {`{"if": [{"starts_with": [{"var": "mail"}, "ann"]}, "a", "b"]}`, "", attributes{"mail": "ann@x"}, "a", "TARGETING_MATCH"},
		"starts_with no string": {`{"starts_with": [{"var": "mail"}, "ann"]}`, "", attributes{"mail": 1}, "c", "DEFAULT"},
		"ends_with":             {`{"if": [{"ends_with": [{"var": "mail"}, "@x"]}, "a", "b"]}`, "", attributes{"mail": "ann@x"}, "a", "TARGETING_MATCH"},
		"sem_ver":               {`{"if": [{"sem_ver": [{"var": "v"}, "^", "1.2.0"]}, "a", "b"]}`, "", attributes{"v": "v1.9"}, "a", "TARGETING_MATCH"},
		"the flag's key":        {`{"if": [{"==": [{"var": "$flagd.flagKey"}, "f"]}, "a", "b"]}`, "", attributes{"$flagd": 1}, "a", "TARGETING_MATCH"},
		"the time":              {`{"if": [{">": [{"var": "$flagd.timestamp"}, 1700000000]}, "a", "b"]}`, "", nil, "a", "TARGETING_MATCH"},
		"the time is seconds":   {`{"if": [{">": [{"var": "$flagd.timestamp"}, 1e11]}, "a", "b"]}`, "", nil, "b", "TARGETING_MATCH"},
		"all that is nested":    {`{"if": [{"in": ["x", {"var": "a.list"}]}, "a", "b"]}`, "", attributes{"a": map[string]any{"list": []string{"x"}}}, "a", "TARGETING_MATCH"},
		"weights":               {`{"fractional": [["a", 0], ["b", 3]]}`, "", attributes{"targetingKey": "k"}, "b", "TARGETING_MATCH"},
		"no key to bucket by":   {`{"fractional": [["a"], ["b"]]}`, "", nil, "c", "DEFAULT"},
		"an empty key":          {`{"fractional": [["a"]  , ["a"]]}`, "", attributes{"targetingKey": ""}, "a", "TARGETING_MATCH"},
		"a number to bucket by": {`{"fractional": [{"var": "n"}, ["a"], ["b"]]}`, "", attributes{"n": 1, "targetingKey": "k"}, "c", "DEFAULT"},
		"nothing to bucket by":  {`{"fractional": [{"var": "n"}, ["a"], ["a"]]}`, "", attributes{"targetingKey": "k"}, "a", "TARGETING_MATCH"},
		"groups of its own":     {`{"if": [{"==": [{"fractional": [["x"], ["x"]]}, "x"]}, "a", "b"]}`, "", attributes{"targetingKey": "k"}, "a", "TARGETING_MATCH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, targeted(c.targeting, c.evaluators))
			d := p.StringEvaluation(t.Context(), "f", "fallback", c.context)
			require.NoError(t, d.Error())
			assert.Equal(t, c.variant, d.Variant)
			assert.EqualValues(t, c.reason, d.Reason)
			assert.Equal(t, map[string]string{"a": "A", "b": "B", "c": "C", "true": "T", "1": "ONE"}[c.variant], d.Value)
		})
	}
}

// TestLoopsThatPeopleWriteAreNoDanger is about the bounds on loops.
func TestLoopsThatPeopleWriteAreNoDanger(t *testing.T) {
	t.Parallel()
	for name, targeting := range map[string]string{
		"a maximum": `{"if": [{">": [{"reduce": [{"var": "list"}, {"if": [{">": [{"var": "current"}, {"var": "accumulator"}]},
			{"var": "current"}, {"var": "accumulator"}]}, 0]}, 1]}, "a", "b"]}`,
		"a count": `{"if": [{">": [{"reduce": [{"var": "list"}, {"if": [{">": [{"var": "current"}, 1]},
			{"+": [{"var": "accumulator"}, 1]}, {"var": "accumulator"}]}, 0]}, 0]}, "a", "b"]}`,
		"three levels": `{"if": [{"some": [{"var": "orgs"}, {"some": [{"var": "teams"}, {"some": [{"var": "members"}, {"==": [{"var": ""}, 1]}]}]}]}, "b", "a"]}`,
	} {
		p := serve(t, targeted(targeting, ""))
		d := p.StringEvaluation(t.Context(), "f", "", attributes{"list": []int{1, 2}, "orgs": []any{}, "targetingKey": "k"})
		assert.NoError(t, d.Error(), name)
		assert.Equal(t, "A", d.Value, name)
	}
}

func TestWhatTargetingCannotDecideIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		targeting string
		context   attributes
		want      string
	}{
		"no variant":         {`{"var": "plan"}`, attributes{"plan": "gold"}, `targeting gave "gold"; want one of the variants "1", "a", "b", "c", "true"`},
		"false":              {`{"==": [1, 2]}`, nil, `targeting gave "false"; want one of`},
		"a list":             {`{"merge": [["a"]]}`, nil, `targeting gave a []interface {}; want the name of a variant`},
		"an object":          {`{"var": "o"}`, attributes{"o": map[string]any{"x": 1, "y": 2}}, `targeting gave a map[string]interface {}; want`},
		"no number":          {`{"/": [0, 0]}`, nil, `targeting gave NaN; want the name of a variant`},
		"the library panics": {`{"in": [1, "text"]}`, nil, `targeting cannot be evaluated: `},
		"nothing with it":    {`{"reduce": [[1], {"var": "current"}, null]}`, nil, `targeting cannot be evaluated: `},
		"no JSON":            {`{"var": "plan"}`, attributes{"plan": make(chan int)}, `an attribute has no JSON: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := serve(t, targeted(c.targeting, "")).StringEvaluation(t.Context(), "f", "fallback", c.context)
			require.ErrorContains(t, d.Error(), c.want)
			assert.Equal(t, openfeature.ParseErrorCode, d.ResolutionDetail().ErrorCode)
			assert.Equal(t, "fallback", d.Value)
			assert.Empty(t, d.Variant)
			assert.Equal(t, openfeature.ErrorReason, d.Reason)
		})
	}
}

func TestTargetingErrors(t *testing.T) {
	t.Parallel()
	const of = `targeting of flag "f"`
	deep := strings.Repeat(`{"!": [`, 150) + "true" + strings.Repeat("]}", 150)
	chain := `"e0": {"!": true}`
	for i := range 250 {
		chain += fmt.Sprintf(`, "e%d": {"$ref": "e%d"}`, i+1, i)
	}
	reversed := `"e250": {"!": true}`
	for i := range 250 {
		reversed = fmt.Sprintf(`"e%d": {"$ref": "e%d"}, `, 249-i, 250-i) + reversed
	}
	bomb := `"e0": {"cat": ["x", "x"]}`
	for i := range 40 {
		bomb += fmt.Sprintf(`, "e%d": {"cat": [{"$ref": "e%d"}, {"$ref": "e%d"}]}`, i+1, i, i)
	}
	for name, c := range map[string]struct{ targeting, evaluators, want string }{
		"a list":                    {"[]", "", `5: ` + of + ` is an array; want an object with one operator`},
		"text":                      {`"a"`, "", `5: ` + of + ` is a string; want`},
		"unknown operator":          {"{\"if\": [true,\n\"a\",\n{\"iff\": []}]}", "", `7: ` + of + ` has an unknown operator "iff"; want one of JSONLogic or flagd`},
		"our name of an operator":   {`{"seawall:fractional": [["a"], ["b"]]}`, "", `5: ` + of + ` has an unknown operator "seawall:fractional"`},
		"an old operator":           {`{"fractionalEvaluation": []}`, "", `5: ` + of + ` has the operator "fractionalEvaluation", which flagd gave up; want fractional`},
		"two operators":             {`{"if": ["a"], "or": ["a"]}`, "", `5: ` + of + ` has an object with 2 properties; want exactly one`},
		"no operator":               {`{"!": [{}]}`, "", `5: ` + of + ` has an object with 0 properties`},
		"too few arguments":         {`{"==": [1]}`, "", `5: ` + of + `: "==" has 1 arguments; want 2`},
		"too many arguments":        {`{"<": [1, 2, 3, 4]}`, "", `5: ` + of + `: "<" has 4 arguments; want 2 to 3`},
		"no arguments":              {`{"if": []}`, "", `5: ` + of + `: "if" has 0 arguments; want 1 or more`},
		"no list of arguments":      {`{"if": true}`, "", `5: ` + of + `: the arguments of "if" are a boolean; want an array of 1 or more`},
		"a huge number":             {`{"==": [1e999, 1]}`, "", `5: ` + of + ` has the number 1e999; want one that a float64 can hold`},
		"unknown property of flagd": {`{"var": "$flagd.flagkey"}`, "", `5: ` + of + ` asks for "$flagd.flagkey"; want $flagd.flagKey or $flagd.timestamp`},
		"the same with a default":   {`{"var": ["$flagd.time", 1]}`, "", `5: ` + of + ` asks for "$flagd.time"`},
		"a long text in a loop": {
			`{"some": [[` + strings.Repeat("1,", 999) + `1], {"in": [{"var": ""}, "` + strings.Repeat("x", 40_000) + `"]}]}`, "",
			`5: ` + of + ` would take more than 1000000 steps by some`,
		},
		"a text that grows": {
			`{"reduce": [[` + strings.Repeat("1,", 999) + `1], {"cat": [{"var": "accumulator"}, "x"]}, ""]}`, "",
			`5: ` + of + ` would take more than 1000000 steps by reduce`,
		},
		"loops in loops": {
			`{"map": [[1,2,3,4,5,6,7,8,9,10], {"map": [{"var": "a"}, {"filter": [{"var": "b"}, {"some": [{"var": "c"}, {"some": [{"var": "d"}, true]}]}]}]}]}`, "",
			`5: ` + of + ` would take more than 1000000 steps by map`,
		},
		"a reduce that doubles": {
			`{"reduce": [{"var": "a"}, {"cat": [{"var": "accumulator"}, {"var": "accumulator"}]}, "x"]}`, "",
			`5: ` + of + ` asks for the accumulator of a reduce more than once`,
		},
		"a reduce that doubles everything": {
			`{"reduce": [{"var": "a"}, {"cat": [{"var": ""}, {"var": ["accumulator"]}]}, "x"]}`, "",
			`5: ` + of + ` asks for the accumulator of a reduce more than once`,
		},
		"too deep":                    {deep, "", `5: ` + of + ` is more than 200 levels deep`},
		"too deep by reference":       {`{"$ref": "e250"}`, chain, `2: evaluator "e200" is more than 200 levels deep`},
		"the same the other way":      {`{"$ref": "e0"}`, reversed, `2: evaluator "e200" is more than 200 levels deep`},
		"too many by reference":       {`{"$ref": "e40"}`, bomb, `2: evaluator "e15" has more than 100000 values`},
		"no such evaluator":           {`{"$ref": "e"}`, "", `5: ` + of + ` refers to "e"; want the name of one of the $evaluators`},
		"a reference by number":       {`{"$ref": 1}`, "", `5: ` + of + ` has a $ref that is a number; want the name of an evaluator`},
		"a circle of one":             {`{"$ref": "e"}`, `"e": {"!": {"$ref": "e"}}`, `2: evaluator "e" refers to "e", which comes back to itself`},
		"a circle of two":             {`{"$ref": "e"}`, "\"e\": {\"!\": {\"$ref\": \"d\"}},\n\"d\": {\"$ref\": \"e\"}", `3: evaluator "d" refers to "e", which comes back`},
		"an evaluator is text":        {`{}`, `"e": "a"`, `2: evaluator "e" is a string; want an object with one operator`},
		"an evaluator is empty":       {`{}`, `"e": {}`, `2: evaluator "e" has an object with 0 properties`},
		"an evaluator is wrong":       {`{}`, "\n\"e\": {\"iff\": []}", `3: evaluator "e" has an unknown operator "iff"`},
		"no such variant":             {"{\"if\": [true,\n\"d\"]}", "", `6: ` + of + ` gives "d"; want one of the variants "1", "a", "b", "c", "true"`},
		"no such variant at last":     {"{\"if\": [true, \"a\",\n\"d\"]}", "", `6: ` + of + ` gives "d"`},
		"no such variant in either":   {`{"?:": [true, "a", "d"]}`, "", `5: ` + of + ` gives "d"`},
		"no such variant in a branch": {`{"if": [true, {"if": [true, false]}, "a"]}`, "", `5: ` + of + ` gives "false"`},
		"no such variant by ref":      {`{"$ref": "e"}`, `"e": {"if": [true, "d"]}`, `2: ` + of + ` gives "d"`},
		"no such number":              {`{"if": [true, 2]}`, "", `5: ` + of + ` gives "2"`},
		"a branch is a list":          {`{"if": [true, ["a"]]}`, "", `5: ` + of + ` gives an array; want one of the variants`},
		"a share of no variant":       {"{\"fractional\": [[\"a\", 1],\n[\"d\", 1]]}", "", `6: ` + of + ` gives "d"`},
		"a negative weight":           {`{"fractional": [["a", 1], ["b", -1]]}`, "", `5: ` + of + `: the weight of "b" is -1; want a whole number from 0 to 2147483647`},
		"a broken weight":             {`{"fractional": [["a", 1], ["b", 1.5]]}`, "", `5: ` + of + `: the weight of "b" is 1.5; want`},
		"a huge weight":               {`{"fractional": [["a", 1], ["b", 1e10]]}`, "", `5: ` + of + `: the weight of "b" is 1e10; want`},
		"a weight in text":            {`{"fractional": [["a", 1], ["b", "1"]]}`, "", `5: ` + of + `: the weight of "b" is "1"; want`},
		"a computed weight":           {`{"fractional": [["a", 1], ["b", {"var": "w"}]]}`, "", `5: ` + of + `: the weight of "b" is an object; want`},
		"weights of nothing":          {`{"fractional": [["a", 0], ["b", 0]]}`, "", `5: ` + of + `: the weights of fractional are all 0`},
		"a share with three parts":    {`{"fractional": [["a", 1], ["b", 1, 1]]}`, "", `5: ` + of + `: a share of fractional is an array; want [variant] or [variant, weight]`},
		"a share of text":             {`{"fractional": [["a", 1], "b"]}`, "", `5: ` + of + `: a share of fractional is "b"; want [variant]`},
		"a share of a number":         {`{"fractional": [["a", 1], [1]]}`, "", `5: ` + of + `: the variant of a share of fractional is a number; want a string`},
		"only one share":              {`{"fractional": [["a", 1]]}`, "", `5: ` + of + `: "fractional" has 1 arguments; want 2 or more`},
		"bucketed by a number":        {`{"fractional": [1, ["a"], ["b"]]}`, "", `5: ` + of + `: fractional buckets by a number; want an expression that gives a string`},
		"starts_with a number":        {`{"starts_with": [{"var": "x"}, 1]}`, "", `5: ` + of + ` compares by starts_with with a number; want strings`},
		"no such comparison":          {`{"sem_ver": [{"var": "x"}, "==", "1.0.0"]}`, "", `5: ` + of + ` compares versions by "=="; want =, !=, <`},
		"no version":                  {`{"sem_ver": [{"var": "x"}, "=", "1.0.0.0"]}`, "", `5: ` + of + ` has the version "1.0.0.0"; want one like 1.2.3`},
		"a version is a number":       {`{"sem_ver": [{"var": "x"}, "=", 1]}`, "", `5: ` + of + ` has the version 1; want one like`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "flags.json")
			write(t, path, targeted(c.targeting, c.evaluators))
			_, err := flags.NewFileProvider(path, quiet())
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), path+":"+c.want), "got  %q\nwant %q", err, path+":"+c.want)
		})
	}
}

func TestEvaluatorsThatAreNoObject(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, "{\"flags\": {},\n\"$evaluators\": []}")
	_, err := flags.NewFileProvider(path, quiet())
	require.ErrorContains(t, err, path+":2: $evaluators is an array; want an object")
}

// A comparison that the variants have no answer for fails at every evaluation, so it is found at once.
func TestAComparisonNeedsVariantsForItsAnswers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flags.json")
	text := strings.ReplaceAll(targeted(`{"==": [{"var": "plan"}, "gold"]}`, ""), `"true"`, `"yes"`)
	write(t, path, text)
	_, err := flags.NewFileProvider(path, quiet())
	require.ErrorContains(t, err, path+`:5: targeting of flag "f" gives "true" or "false"; want one of the variants "1", "a", "b", "c", "yes"`)
}

// Ten thousand flags that refer to an evaluator with ten thousand results: the file has half a megabyte.
func TestManyFlagsOfOneLargeEvaluator(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	file.WriteString(`{"$evaluators": {"e": {"if": [true, "a"` + strings.Repeat(`, true, "a"`, 10_000) + "]}},\n\"flags\": {")
	for i := range 10_000 {
		if i > 0 {
			file.WriteByte(',')
		}
		fmt.Fprintf(&file, `"%d":{"state":"ENABLED","variants":{"a":1},"defaultVariant":"a","targeting":{"$ref":"e"}}`, i)
	}
	file.WriteString("}}")
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, file.String())
	_, err := flags.NewFileProvider(path, quiet())
	require.ErrorContains(t, err, path+":1: the targeting of all flags comes to more than 1000000 results")
}

func TestSharesAreAsLargeAsTheirWeights(t *testing.T) {
	t.Parallel()
	const all = 20_000
	for name, rule := range map[string]string{
		"by the caller":     `{"fractional": [["a", 25], ["b", 75]]}`,
		"by what is chosen": `{"fractional": [{"cat": ["salt", {"var": "targetingKey"}]}, ["a", 1], ["b", 3]]}`,
		"without weights":   `{"fractional": [["a"], ["b"], ["b"], ["b"]]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, targeted(rule, ""))
			count := map[string]int{}
			for i := range all {
				who := attributes{"targetingKey": fmt.Sprint("caller-", i)}
				d := p.StringEvaluation(t.Context(), "f", "", who)
				require.NoError(t, d.Error())
				require.Equal(t, d, p.StringEvaluation(t.Context(), "f", "", who))
				count[d.Variant]++
			}
			assert.InDelta(t, all/4, count["a"], all/50)
			assert.Equal(t, all, count["a"]+count["b"])
		})
	}
}

// Evaluations share the rules: the race detector tells whether one writes.
func TestConcurrentEvaluations(t *testing.T) {
	t.Parallel()
	p := serve(t, targeted(`{"if": [
    {"some": [{"filter": [{"map": [{"var": "list"}, {"+": [{"var": ""}, 1]}]}, {">": [{"var": ""}, 1]}]}, {"==": [{"var": ""}, 3]}]},
    {"fractional": [["a"], ["b"]]}, {"set": [{"var": "o"}, "x", 1]}]}`, ""))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 500 {
				d := p.StringEvaluation(t.Context(), "f", "", attributes{"list": []int{1, 2}, "targetingKey": fmt.Sprint(i, j)})
				assert.NoError(t, d.Error())
			}
		})
	}
	wg.Wait()
}

func TestOpenFileFollowsTargeting(t *testing.T) {
	t.Parallel()
	file := func(variant string) string {
		return `{"flags": {"seawall-ratelimit-mode": {
  "state": "ENABLED", "variants": {"on": "enforce", "dark": "log-only"}, "defaultVariant": "on",
  "targeting": {"if": [{"!": [{"var": "targetingKey"}]}, ` + variant + `]}
}}}`
	}
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, file(`"dark"`))
	f := open(t, path, quiet().Handler())
	g := f.Gate("ratelimit", "")
	require.Equal(t, seawall.LogOnly, g(nil))
	replace(t, path, file(`{"cat": ["no", "ne"]}`)) // no variant: found when it is evaluated
	require.Eventually(t, func() bool { return f.Err() != nil }, soon, poll)
	require.ErrorContains(t, f.Err(), path+`:1: flag "seawall-ratelimit-mode": `)
	require.ErrorContains(t, f.Err(), `targeting gave "none"; want one of the variants "dark", "on"`)
	require.Equal(t, seawall.LogOnly, g(nil), "the last good value stays")
	replace(t, path, file("null"))
	becomes(t, seawall.Enforce, g)
}

func TestKeysAreThoseServed(t *testing.T) {
	t.Parallel()
	const flag = `{"state": "ENABLED", "variants": {"v": true}, "defaultVariant": "v"}`
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, `{"flags": {"b": `+flag+`, "a": `+flag+`}}`)
	p, err := flags.NewFileProvider(path, quiet())
	require.NoError(t, err)
	t.Cleanup(p.Shutdown)
	require.Equal(t, []string{"a", "b"}, p.Keys())

	replace(t, path, `{"flags": {"c": `+flag+`, "b": `+flag+`}}`)
	require.Eventually(t, func() bool { return p.Keys()[1] == "c" }, soon, poll)
	replace(t, path, `{"flags": {"d": `+flag+`}}`)
	require.Eventually(t, func() bool { return len(p.Keys()) == 1 }, soon, poll)
	replace(t, path, `{"flags": `)
	require.Eventually(t, func() bool { return p.Err() != nil }, soon, poll)
	require.Equal(t, []string{"d"}, p.Keys(), "an invalid file changes nothing")

	e := <-p.EventChannel() // nobody has read one before, so it tells of both changes
	require.Equal(t, openfeature.ProviderConfigChange, e.EventType)
	require.Equal(t, []string{"a", "b", "c", "d"}, e.FlagChanges)
	require.Empty(t, p.EventChannel())
}
