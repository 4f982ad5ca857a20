package arrows

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	named    = regexp.MustCompile("`(Test[A-Z]\\w*)`")
	declared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// TestDocumentedTestsExist reads all pages of docs: whoever looks for a test that a page names finds it.
func TestDocumentedTestsExist(t *testing.T) {
	const root = "../.."
	tests, pages := map[string]bool{}, map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		test, page := strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, ".md")
		if !test && !page {
			return nil
		}
		text, err := os.ReadFile(path)
		if page {
			pages[path] = string(text)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	}))
	found := 0
	for path, text := range pages {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			assert.Contains(t, tests, m[1], path)
			found++
		}
	}
	assert.Greater(t, found, 10, "pages name tests")
}
