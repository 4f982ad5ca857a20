package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// root is the repository, seen from this folder.
const root = "../.."

// example is an Example function, which go test runs.
type example struct{ file, name string }

// code returns its body for a page, as Markdown.
func (e example) code() (string, error) {
	path := filepath.Join(root, filepath.FromSlash(e.file))
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, 0)
	if err != nil {
		return "", err
	}
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name != e.name {
			continue
		}
		body := string(source[files.Position(f.Body.Lbrace).Offset+1 : files.Position(f.Body.Rbrace).Offset])
		var b strings.Builder
		b.WriteString("```go\n")
		for l := range strings.Lines(strings.Trim(body, "\n") + "\n") {
			b.WriteString(strings.TrimPrefix(l, "\t"))
		}
		b.WriteString("```\n")
		return b.String(), nil
	}
	return "", fmt.Errorf("%s has no function %s", e.file, e.name)
}
