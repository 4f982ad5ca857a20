package main

import (
	"strings"
	"testing"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/stretchr/testify/assert"
)

// Where the providers differ, and that they do: an entry whose two sides have become alike belongs into rules.
func TestWhereTheProvidersDiffer(t *testing.T) {
	file := `{
  "$evaluators": {"late": {"<": [1e9, {"var": "$flagd.timestamp"}]}},
  "flags": {
    "evaluator with $flagd": ` + oneFlag("ENABLED", `{"if": [{"$ref": "late"}, "a", "b"]}`) + `,
    "disabled":              ` + oneFlag("DISABLED", `{}`) + `,
    "null":                  ` + oneFlag("ENABLED", `null`) + `,
    "spaced":                ` + oneFlag("ENABLED", `{ }`) + `,
    "name to be escaped":    ` + oneFlag("ENABLED", `{"if": [true, "<1%"]}`) + `,
    "share from an array":   ` + oneFlag("ENABLED", `{"fractional": [{"var": "list"}, ["b", 1]]}`) + `
  }
}`
	const failed, match = openfeature.ErrorReason, openfeature.TargetingMatchReason
	b := serve(t, file)
	for key, want := range map[string]struct{ real, ours verdict }{
		"evaluator with $flagd": {verdict{"b", "B", match, ""}, verdict{"a", "A", match, ""}},
		"disabled":              {verdict{"", "fallback", failed, openfeature.FlagNotFoundCode}, verdict{"", "fallback", openfeature.DisabledReason, ""}},
		"null":                  {verdict{"c", "C", openfeature.DefaultReason, ""}, verdict{"c", "C", openfeature.StaticReason, ""}},
		"spaced":                {verdict{"", "fallback", failed, openfeature.ParseErrorCode}, verdict{"c", "C", openfeature.StaticReason, ""}},
		"name to be escaped":    {verdict{"", "fallback", failed, openfeature.ParseErrorCode}, verdict{"<1%", "FEW", match, ""}},
		"share from an array":   {verdict{"a", "A", match, ""}, verdict{"c", "C", openfeature.DefaultReason, ""}},
	} {
		c := openfeature.FlattenedContext{"targetingKey": "k", "list": []any{"a", 1e6}}
		assert.Equal(t, want.real, ask(b.real, key, c), "flagd, %s", key)
		assert.Equal(t, want.ours, ask(b.ours, key, c), "ours, %s", key)
	}

	numbers := serve(t, `{"flags": {"half": {"state": "ENABLED", "variants": {"a": 0.5}, "defaultVariant": "a"}}}`)
	theirs := numbers.real.IntEvaluation(t.Context(), "half", 7, nil)
	assert.NoError(t, theirs.Error())
	assert.Zero(t, theirs.Value, "flagd cuts off what is behind the point")
	ours := numbers.ours.IntEvaluation(t.Context(), "half", 7, nil)
	assert.Equal(t, openfeature.TypeMismatchCode, ours.ResolutionDetail().ErrorCode)
	assert.EqualValues(t, 7, ours.Value)
}

func oneFlag(state, targeting string) string {
	return strings.NewReplacer("STATE", state, "TARGETING", targeting).Replace(
		`{"state": "STATE", "variants": {"a": "A", "b": "B", "c": "C", "<1%": "FEW"}, "defaultVariant": "c", "targeting": TARGETING}`)
}
