package flags_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/seawall-go/seawall/flags"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheFileProviderServesEveryType(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, `{
  "$schema": "https://flagd.dev/schema/v0/flags.json",
  "metadata": {"team": "payments", "list": [1, null]},
  "$evaluators": {},
  "flags": {
    "bool": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off"},
    "text": {"state": "ENABLED", "variants": {"a": "A", "b": "B"}, "defaultVariant": "b", "targeting": {}},
    "whole": {"state": "ENABLED", "variants": {"a": 3, "b": 0.5}, "defaultVariant": "a", "targeting": null},
    "half": {"state": "ENABLED", "variants": {"a": 3, "b": 0.5}, "defaultVariant": "b", "metadata": {}},
    "thing": {"state": "ENABLED", "variants": {"a": {"x": [1, "y"]}}, "defaultVariant": "a"},
    "idle": {"state": "DISABLED", "variants": {"on": true}, "defaultVariant": "on"}
  }
}`)
	p, err := flags.NewFileProvider(path, quiet())
	require.NoError(t, err)
	t.Cleanup(p.Shutdown)
	c := newAPI(t, p).NewClient()
	ctx, none := t.Context(), openfeature.EvaluationContext{}

	assert.False(t, c.Boolean(ctx, "bool", true, none))
	assert.Equal(t, "B", c.String(ctx, "text", "", none))
	assert.Equal(t, 3.0, c.Float(ctx, "whole", 0, none))
	assert.Equal(t, int64(3), c.Int(ctx, "whole", 0, none))
	assert.Equal(t, 0.5, c.Float(ctx, "half", 0, none))
	assert.Equal(t, map[string]any{"x": []any{int64(1), "y"}}, c.Object(ctx, "thing", nil, none))
	assert.False(t, c.Boolean(ctx, "idle", false, none), "a disabled flag has the caller's default")
	assert.True(t, c.Boolean(ctx, "absent", true, none))
	assert.Zero(t, p.Errors())
	assert.NoError(t, p.Err())
}

func TestFileErrors(t *testing.T) {
	t.Parallel()
	// in is a file whose only flag "f" has these lines, from line 4 on.
	in := func(lines string) string {
		return "{\n  \"flags\": {\n    \"f\": {\n" + lines + "\n    }\n  }\n}\n"
	}
	const rest = "\n\"variants\": {\"a\": true},\n\"defaultVariant\": \"a\""
	for name, c := range map[string]struct{ text, want string }{
		"empty":                   {"", "1: invalid JSON: unexpected end of JSON input"},
		"blank":                   {"\n\n", "2: invalid JSON: unexpected end of JSON input"},
		"truncated":               {"{\n\"flags\": {\n\"f\": {\"state\": \"ENAB", "3: invalid JSON: unexpected end of JSON input"},
		"a comma too many":        {"{\n\"flags\": {\n},\n}\n", "4: invalid JSON: invalid character '}'"},
		"text behind":             {"{\"flags\": {}}\n\nx", "3: invalid JSON: invalid character 'x' after top-level value"},
		"not an object":           {"\n[]", "2: the file is an array; want an object"},
		"null":                    {"null", "1: the file is null; want an object"},
		"no flags":                {"\n{\n\"metadata\": {}\n}", `2: there are no flags; want an object {"flags": {...}}`},
		"misspelt flags":          {"{\n\"flag\": {}}", `2: unknown property "flag"; want flags, $schema, $evaluators or metadata`},
		"flags is a list":         {"{\n\n\"flags\": []}", "3: flags is an array; want an object"},
		"flags is null":           {"{\n\n\"flags\": null}", "3: flags is null; want an object"},
		"a flag is a boolean":     {"{\"flags\": {\n\"f\": true}}", `2: flag "f" is a boolean; want an object with state, variants and defaultVariant`},
		"flags twice":             {"{\"flags\": {},\n\"flags\": {}}", `2: "flags" occurs twice, first on line 1`},
		"a flag twice":            {"{\"flags\": {\n\"f\": {\"state\": \"ENABLED\"" + strings.ReplaceAll(","+rest, "\n", "") + "},\n\"f\": {}}}", `3: "f" occurs twice, first on line 2; want each key once`},
		"a variant twice":         {in("\"state\": \"ENABLED\",\n\"variants\": {\"a\": true,\n\"a\": false},\n\"defaultVariant\": \"a\""), `6: "a" occurs twice, first on line 5`},
		"a property twice":        {in("\"state\": \"ENABLED\",\n\"state\": \"DISABLED\"," + rest), `5: "state" occurs twice, first on line 4`},
		"unknown state":           {in("\n\"state\":\n\"enabled\"," + rest), `6: state of flag "f" is "enabled"; want "ENABLED" or "DISABLED"`},
		"state is a boolean":      {in("\"state\": true," + rest), `4: state of flag "f" is a boolean; want "ENABLED" or "DISABLED"`},
		"no state":                {in(strings.TrimPrefix(rest, "\n")), `3: flag "f" has no state; want "ENABLED" or "DISABLED"`},
		"no variants":             {in("\"state\": \"ENABLED\",\n\"defaultVariant\": \"a\""), `3: flag "f" has no variants; want an object`},
		"empty variants":          {in("\"state\": \"ENABLED\",\n\"variants\": {},\n\"defaultVariant\": \"a\""), `5: variants of flag "f": want an object with at least one`},
		"variants is a list":      {in("\"state\": \"ENABLED\",\n\"variants\": [true],\n\"defaultVariant\": \"a\""), `5: variants of flag "f": want an object with at least one`},
		"no defaultVariant":       {in("\"state\": \"ENABLED\",\n\"variants\": {\"a\": 1}"), `3: flag "f" has no defaultVariant; want the name of one of its variants`},
		"misspelt defaultVariant": {in("\"state\": \"ENABLED\",\n\"variants\": {\"a\": 1},\n\"defaultVarient\": \"a\""), `6: flag "f" has an unknown property "defaultVarient"; want state, variants, defaultVariant, targeting or metadata`},
		"defaultVariant is null":  {in("\"state\": \"ENABLED\",\n\"variants\": {\"a\": 1},\n\"defaultVariant\": null"), `6: defaultVariant of flag "f" is null; want a string`},
		"defaultVariant unknown":  {in("\"state\": \"ENABLED\",\n\"variants\": {\"a\": 1},\n\"defaultVariant\": \"b\""), `6: defaultVariant of flag "f" is "b"; want the name of one of its variants`},
		"unknown before variants": {in("\"defaultVariant\": \"b\",\n\"state\": \"ENABLED\",\n\"variants\": {\"a\": 1}"), `4: defaultVariant of flag "f" is "b"`},
		"mixed variants":          {in("\"state\": \"ENABLED\",\n\"variants\": {\"a\": true,\n\"b\": true,\n\"c\": \"true\"},\n\"defaultVariant\": \"a\""), `7: variant "c" of flag "f" is a string but "a" is a boolean; want variants of one type`},
		"a variant is null":       {in("\"state\": \"ENABLED\",\n\"variants\": {\n\"a\": null},\n\"defaultVariant\": \"a\""), `6: variant "a" of flag "f" is null; want a boolean, a string, a number or an object`},
		"a variant is a list":     {in("\"state\": \"ENABLED\",\n\"variants\": {\n\"a\": []},\n\"defaultVariant\": \"a\""), `6: variant "a" of flag "f" is an array; want`},
		"a variant is too large":  {in("\"state\": \"ENABLED\",\n\"variants\": {\n\"a\": 1e999},\n\"defaultVariant\": \"a\""), `6: variant "a" of flag "f": `},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "flags.json")
			write(t, path, c.text)
			p, err := flags.NewFileProvider(path, quiet())
			require.Nil(t, p)
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), path+":"+c.want), "got %q\nwant %q", err, path+":"+c.want)
		})
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "absent.json")
	_, err := flags.NewFileProvider(path, nil)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "no such file")
}
