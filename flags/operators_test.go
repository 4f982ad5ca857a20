package flags

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Registered like the real ones, since the tests evaluate in parallel.
var testOperators = register(map[string]func(values, data any) any{
	"test panics": func(any, any) any { panic("with a text, which jsonlogic cannot handle") },
})

func TestEveryPanicIsAnErrorOfItsEvaluation(t *testing.T) {
	t.Parallel()
	_, _, err := rule{logic: map[string]any{testOperators["test panics"]: true}}.variant("f", nil)
	require.ErrorContains(t, err, "targeting cannot be evaluated: ")
}

// What a context might make of our operators: a rule that is not from a file may have any arguments.
func TestOperatorsTakeAnyArguments(t *testing.T) {
	t.Parallel()
	for _, values := range []any{nil, "a", 1.0, []any{}, []any{nil, nil}, []any{"a", "b", "c", "d"}, []any{"s", []any{"a"}}, map[string]any{}} {
		for _, data := range []any{nil, "a", []any{}, map[string]any{targetingKey: 1}} {
			assert.Nil(t, fractional(values, data))
			assert.Nil(t, startsWith(values, data))
			assert.Equal(t, false, endsWith(values, data))
			assert.Equal(t, false, compareVersions(values, data))
		}
	}
}

// The buckets of flagd 0.3.0, in thousandths: whoever has one keeps it for ever.
func TestBucketsOfKnownSeeds(t *testing.T) {
	t.Parallel()
	thousand := &distribution{}
	for i := range 1000 {
		thousand.variants = append(thousand.variants, strconv.Itoa(i))
		thousand.ends = append(thousand.ends, float64(i+1)/10)
	}
	for seed, want := range map[string]string{
		"": "0", "acme": "717", "flagcaller-1": "655", "flagcaller-2": "564", "flagcaller-3": "946", "Grüße": "834",
	} {
		assert.Equal(t, want, thousand.variant(seed), "%q", seed)
	}
}
