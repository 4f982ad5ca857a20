package policyfile_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/ratelimit/policyfile"
)

// The documentation's files are read, and what is said to be wrong with the others is what is.
func TestTheDocumentationIsTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/policyfile.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```([a-z ]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	read := map[string]int{}
	var wrong error
	for _, b := range blocks {
		read[b[1]]++
		switch b[1] {
		case "yaml":
			f, err := policyfile.Parse("policies.yaml", []byte(b[2]))
			require.NoError(t, err)
			assert.Len(t, f.Policies(), 4)
		case "yaml invalid":
			_, wrong = policyfile.Parse("policies.yaml", []byte(b[2]))
		case "text":
			assert.EqualError(t, wrong, strings.TrimSuffix(b[2], "\n"))
		}
	}
	assert.Equal(t, map[string]int{"yaml": 1, "yaml invalid": 1, "text": 1, "go": 1}, read)
	for key := range strings.FieldsSeq("version ratelimit name bucket log counter window callers routes cost on-failure plans overrides " +
		"rate burst limit every first zone at from caller key plan") {
		assert.Contains(t, string(text), "\n| `"+key+"` |")
	}
}
