package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	link        = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	headline    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// TestLinks follows the links of the pages, which all stay within the repository.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range pages() {
		text, err := os.ReadFile(filepath.Join(docs, page))
		require.NoError(t, err)
		follow(t, page, string(text))
	}
}

func follow(t *testing.T, page, text string) {
	t.Helper()
	all := link.FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, all, page)
	for _, l := range all {
		file, anchor := l[1], l[2]
		if file == "" {
			file = page
		}
		content, err := os.ReadFile(filepath.Join(docs, file))
		if assert.NoError(t, err, l[0]) && anchor != "" {
			assert.Contains(t, anchors(string(content)), anchor, l[0])
		}
	}
}

// anchors returns those that GitHub gives the headlines.
func anchors(markdown string) []string {
	var all []string
	for _, h := range headline.FindAllStringSubmatch(markdown, -1) {
		all = append(all, strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return all
}
