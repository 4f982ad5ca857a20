package playbook

import (
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// Languages of blocks.
const (
	JSON    = "json"
	Console = "console"
	Log     = "log"
	PromQL  = "promql"
	YAML    = "yaml"
	Go      = "go"
)

var languages = []string{JSON, Console, Log, PromQL, YAML, Go}

// Page is a playbook.
type Page struct {
	Name  string
	Steps []Step
}

// Step is a section of second level, with at least one block. What is before the first such section is a step, too.
type Step struct {
	Title  string
	Blocks []Block
}

// Block is a fenced block.
type Block struct {
	Language string
	Lines    []string
	// Page and Line are where the first of the lines is.
	Page string
	Line int
}

// Text is all the lines.
func (b Block) Text() string { return strings.Join(b.Lines, "\n") + "\n" }

// At is where a line of the block is, as editors understand it.
func (b Block) At(i int) string { return fmt.Sprintf("%s:%d", b.Page, b.Line+i) }

// ParsePage reads a page. name is what errors call it.
func ParsePage(name, text string) (*Page, error) {
	p := &Page{Name: name}
	step := Step{Title: "introduction"}
	var open *Block
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &Block{Language: fence, Page: name, Line: i + 2}
			if !slices.Contains(languages, fence) {
				return nil, fmt.Errorf("%s:%d: a block in %q; want one of %s", name, i+1, fence, strings.Join(languages, ", "))
			}
		case isFence && fence == "":
			if err := open.check(); err != nil {
				return nil, err
			}
			step.Blocks, open = append(step.Blocks, *open), nil
		case open != nil:
			open.Lines = append(open.Lines, line)
		case strings.HasPrefix(strings.TrimSpace(line), "```"), strings.HasPrefix(line, "~~~"):
			return nil, fmt.Errorf("%s:%d: a fence of another kind; want ``` at the start of the line", name, i+1)
		case strings.HasPrefix(line, "## "):
			p.add(step)
			step = Step{Title: strings.TrimPrefix(line, "## ")}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: the block that begins here does not end", name, open.Line-1)
	}
	p.add(step)
	if len(p.Steps) == 0 {
		return nil, fmt.Errorf("%s: no blocks; want a playbook", name)
	}
	return p, nil
}

func (p *Page) add(s Step) {
	if len(s.Blocks) > 0 {
		p.Steps = append(p.Steps, s)
	}
}

// check finds what is wrong with a block by itself.
func (b Block) check() error {
	if strings.TrimSpace(b.Text()) == "" {
		return fmt.Errorf("%s: an empty block", b.At(-1))
	}
	switch b.Language {
	case Console:
		_, err := b.Commands()
		return err
	case Go:
		const before = "package p; func _() {\n"
		if _, err := parser.ParseFile(token.NewFileSet(), "", before+b.Text()+"}", 0); err != nil {
			return fmt.Errorf("%s: it does not parse: %w (its first line counts as 2)", b.At(-1), err)
		}
	}
	return nil
}
