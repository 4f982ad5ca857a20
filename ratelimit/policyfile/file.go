package policyfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seawall-go/seawall/flags/filewatch"

	"github.com/seawall-go/seawall/ratelimit"
)

// File is a policy file that was read and is valid. It does not change.
type File struct {
	policies []ratelimit.Policy
	costed   []string // routes
}

// Load is Parse of the file at path, which must be a regular one.
func Load(path string) (*File, error) {
	data, err := filewatch.Read(path)
	if err != nil {
		return nil, fmt.Errorf("policyfile: %w", err)
	}
	return Parse(path, data)
}

// Parse returns the file that data says, at most 1 MiB. Its errors begin with "name:line: "; of several, each
// is on a line of its own.
func Parse(name string, data []byte) (*File, error) {
	r := &report{file: name}
	root := r.readYAML(data)
	if root == nil {
		return nil, r.err()
	}
	f := &File{policies: place{report: r}.file(root), costed: r.costed}
	if err := r.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// Routes returns the patterns that policies are about or have a cost for, each once and in order, without "*": for who has raw
// paths, as a log does, and needs to know which of them the file tells apart.
func (f *File) Routes() []string {
	routes := slices.Clone(f.costed)
	for i := range f.policies {
		routes = append(routes, f.policies[i].Routes...)
	}
	routes = slices.DeleteFunc(routes, func(route string) bool { return route == "*" })
	slices.Sort(routes)
	return slices.Compact(routes)
}

// Policies returns the policies in the order of the file. They are the caller's to change.
func (f *File) Policies() []ratelimit.Policy {
	policies := slices.Clone(f.policies)
	for i := range policies {
		p := &policies[i]
		p.Routes, p.Plans = slices.Clone(p.Routes), maps.Clone(p.Plans)
	}
	return policies
}
