package main

import (
	"fmt"
	"io"
	"os"
)

// distinct refuses a log that is there twice, which would count twice, and a page that would take the place of what is read.
// Files that are not there are left to those who read them.
func (o *options) distinct(stdin io.Reader) error {
	var seen []os.FileInfo
	var names []string
	for _, name := range o.logs {
		info := regular(name, stdin)
		if info == nil {
			continue
		}
		for i := range seen {
			if os.SameFile(seen[i], info) {
				return fmt.Errorf("logs %q and %q are one file; want each once, since its requests would count twice", names[i], name)
			}
		}
		seen, names = append(seen, info), append(names, name)
	}
	if o.page == "" {
		return nil
	}
	if info := regular(o.policy, nil); info != nil {
		seen, names = append(seen, info), append(names, o.policy)
	}
	page := regular(o.page, nil)
	for i := range seen {
		if page != nil && os.SameFile(seen[i], page) {
			return fmt.Errorf("flag -html: %q is %q, which is read; want another file, since this one would be overwritten", o.page, names[i])
		}
	}
	return nil
}

// regular describes a file; nil if it is none, such as a pipe.
func regular(name string, stdin io.Reader) os.FileInfo {
	info, err := os.Stat(name) //nolint:gosec // the user says which
	if file, ok := stdin.(*os.File); ok && name == "-" {
		info, err = file.Stat()
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}
