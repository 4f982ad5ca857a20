package playbook

import (
	"fmt"
	"strings"
)

// pageAddress is what pages call the instance.
const pageAddress = "127.0.0.1:8080"

// Command is one of a console block.
type Command struct {
	At     string // as editors understand it
	Text   string // for a shell
	Output []string
}

// Commands returns what a console block runs.
func (b Block) Commands() ([]Command, error) {
	var all []Command
	goesOn := false
	for i, line := range b.Lines {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch last := len(all) - 1; {
		case goesOn:
			all[last].Text += "\n" + line
			goesOn = strings.HasSuffix(line, `\`)
		case isCommand:
			all = append(all, Command{At: b.At(i), Text: command})
			goesOn = strings.HasSuffix(line, `\`)
		case last < 0:
			return nil, fmt.Errorf("%s: output before a command: %q; want a line that begins with \"$ \"", b.At(i), line)
		default:
			all[last].Output = append(all[last].Output, line)
		}
	}
	if goesOn {
		return nil, fmt.Errorf("%s: the command does not end", all[len(all)-1].At)
	}
	return all, nil
}
