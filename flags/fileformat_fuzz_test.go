package flags

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/open-feature/go-sdk/openfeature"
)

// Whatever a file says, it is flags that can be evaluated for any context, or an error that says where.
func FuzzFlagFile(f *testing.F) {
	file := func(targeting string) string {
		return `{"$evaluators": {"e": {"in": [{"var": "plan"}, ["gold", "silver"]]}},
  "flags": {"f": {"state": "ENABLED", "variants": {"a": "A", "true": "T", "1": "ONE"}, "defaultVariant": "a", "targeting": ` + targeting + `}}}`
	}
	for _, targeting := range []string{
		`null`, `{"if": [{"$ref": "e"}, "a", {"var": ["x.0", true]}]}`, `{"fractional": [["a", 10], ["true", 90]]}`,
		`{"fractional": [{"cat": ["salt", {"var": "plan"}]}, ["a"], ["1"]]}`,
		`{"and": [{"starts_with": [{"var": "plan"}, "g"]}, {"ends_with": [{"var": "plan"}, "d"]}, {"sem_ver": [{"var": "v"}, "~", "1.2.3-rc.1"]}]}`,
		`{"reduce": [{"filter": [{"map": [{"var": "x"}, {"%": [{"var": ""}, 3]}]}, {"!": {"var": ""}}]}, {"+": [{"var": "current"}, {"var": "accumulator"}]}, 0]}`,
		`{"or": [{"all": [{"var": "x"}, {">=": [{"var": ""}, 1]}]}, {"none": [{"var": "x"}, {"<": [0, {"var": ""}, 9]}]}, {"some": [[], {"!!": [1]}]}]}`,
		`{"?:": [{"==": [{"missing": ["a", "b"]}, []]}, {"substr": ["abc", -2, 1]}, {"max": [1, {"min": [2, {"abs": -3}]}]}]}`,
		`{"set": [{"var": "x"}, "y", {"merge": [[1], {"missing_some": [1, ["a", "b"]]}]}]}`,
		`{"<=": [{"-": [1, {"*": [2, 3]}]}, {"/": [{"var": "$flagd.timestamp"}, 0]}]}`,
	} {
		f.Add(file(targeting), `{"plan": "gold", "v": "1.2.4", "x": [1, 2, {"if": [true, 1]}], "targetingKey": "k"}`)
		f.Add(file(targeting), `{"plan": {"var": "plan"}, "v": 1, "x": {"seawall:fractional": [null, ["a"]]}, "targetingKey": []}`)
	}
	where := regexp.MustCompile(`^dir/f\.json:([0-9]+): .`)
	f.Fuzz(func(t *testing.T, text, context string) {
		served, err := parseFile("dir/f.json", []byte(text))
		if err != nil {
			m := where.FindStringSubmatch(err.Error())
			if m == nil {
				t.Fatalf("%q says not where", err)
			}
			if line, _ := strconv.Atoi(m[1]); line < 1 || line > 1+strings.Count(text, "\n") {
				t.Fatalf("%q is outside of the file", err)
			}
			return
		}
		var attributes map[string]any
		_ = json.Unmarshal([]byte(context), &attributes)
		for key, flag := range served {
			d := evaluate[any](served, key, nil, attributes, is[any])
			switch {
			case flag.disabled:
				if d.Reason != openfeature.DisabledReason {
					t.Fatalf("a disabled flag: %+v", d)
				}
			case d.Error() != nil:
				if flag.targeting == nil || d.Reason != openfeature.ErrorReason || d.Variant != "" {
					t.Fatalf("without a reason: %+v", d)
				}
			case !flag.has(d.Variant), d.Value == nil, !slices.Contains([]openfeature.Reason{
				openfeature.StaticReason, openfeature.DefaultReason, openfeature.TargetingMatchReason,
			}, d.Reason):
				t.Fatalf("no variant: %+v", d)
			}
		}
	})
}
