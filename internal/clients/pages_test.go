package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const clientsPage = top + "/docs/clients.md"

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// TestThePageShowsWhatIsTested compares every piece of code in docs/clients.md with the file that it is from.
func TestThePageShowsWhatIsTested(t *testing.T) {
	page := read(t, clientsPage)
	sources := map[string][]string{
		"go":     {read(t, "retryable_test.go"), read(t, "retryafter.go")},
		"python": {read(t, "testdata/python/retry.py")},
		"js":     {read(t, "testdata/npm/retry.mjs")},
	}
	for language, files := range sources {
		blocks := regexp.MustCompile("(?s)```"+language+"\n(.*?)```\n").FindAllStringSubmatch(page, -1)
		if !assert.Len(t, blocks, len(files), language) {
			continue
		}
		for k, file := range files {
			if code := blocks[k][1]; !strings.Contains(flat(file), flat(code)) {
				t.Errorf("the page has %s that is in no file:\n%s", language, code)
			}
		}
	}
	assert.Contains(t, page, "```go\n"+read(t, "retryafter.go")+"```\n", "complete")
	assert.LessOrEqual(t, strings.Count(read(t, "retryafter.go"), "\n"), 90)
}

// flat is code without its indentation: what is within a function in a file is not within one on a page.
func flat(code string) string { return regexp.MustCompile(`(?m)^[\t ]+`).ReplaceAllString(code, "") }

// TestThePageNamesTheVersions compares the table's with those that are installed.
func TestThePageNamesTheVersions(t *testing.T) {
	page := read(t, clientsPage)
	for client, pattern := range map[string]string{
		"hashicorp/go-retryablehttp": `hashicorp/go-retryablehttp v([\d.]+)`,
		"axios with axios-retry":     `"axios-retry": "([\d.]+)"`,
	} {
		found := regexp.MustCompile(pattern).FindStringSubmatch(read(t, "go.mod") + read(t, "testdata/npm/package.json"))
		require.NotNil(t, found, client)
		assert.Contains(t, page, client+" | "+found[1]+" |")
	}
}

func TestTheLockFileNamesNoRegistry(t *testing.T) {
	lock := read(t, "testdata/npm/package-lock.json")
	assert.Contains(t, lock, `"integrity"`)
	assert.NotContains(t, lock, `"resolved"`)
}

// TestLinks looks for the files that the pages link to.
func TestLinks(t *testing.T) {
	for _, page := range []string{clientsPage, refusalsPage} {
		for _, m := range regexp.MustCompile(`\]\(([^):#]+)\)`).FindAllStringSubmatch(read(t, page), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
			assert.NoError(t, err, page)
		}
	}
}
