package guard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

// TestPolicyTextsAreOfTheirPolicies has more fields than are remembered.
func TestPolicyTextsAreOfTheirPolicies(t *testing.T) {
	api, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(t, err)
	all, err := seawall.NewLimit("ratelimit", "all", seawall.FailLocal)
	require.NoError(t, err)
	var texts policyTexts
	for range 2 {
		for i := range int64(1000) {
			assert.Equal(t, fmt.Sprintf(`"api";q=%d;w=60`, i), texts.of([]policy{{api, i, 60}}))
			assert.Equal(t, fmt.Sprintf(`"all";q=%d;w=60`, i), texts.of([]policy{{all, i, 60}}))
			assert.Equal(t, fmt.Sprintf(`"api";q=%d;w=60, "all";q=1;w=%d`, i, i), texts.of([]policy{{api, i, 60}, {all, 1, i}}))
		}
	}
	few := []policy{{api, 7, 60}, {all, 1, 7}}
	texts.of(few)
	assert.Zero(t, testing.AllocsPerRun(100, func() { texts.of(few) }))
}
