//go:build !linux

package faults

import (
	"errors"
	"net"
	"testing"
)

// namespace is a network namespace, of which only Linux has some.
type namespace struct{}

var errNoNamespace = errors.New("network namespaces are Linux's")

func newNamespace(*testing.T) (*namespace, error) { return nil, errNoNamespace }

func (*namespace) listen() (net.Listener, error) { return nil, errNoNamespace }

func (*namespace) set(string) error { return errNoNamespace }
