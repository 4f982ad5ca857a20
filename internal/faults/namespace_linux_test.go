package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// namespace is a network namespace of its own at the end of a link, and the thread that lives in it. Nothing of it
// has a name that outlives this process: it is gone with the thread, and the link with it.
type namespace struct {
	link, addr string // the link's end in it, and what it is called there
	tasks      chan func()
}

// newNamespace returns a namespace that ends with its test, or why this machine lets nobody have one.
func newNamespace(t *testing.T) (*namespace, error) {
	t.Helper()
	ip, err := exec.LookPath("ip")
	if err != nil {
		return nil, errors.New("no ip command (the package iproute2)")
	}
	n := &namespace{tasks: make(chan func())}
	entered := make(chan error)
	left := make(chan struct{})
	var thread int
	go func() {
		defer close(left)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		thread = syscall.Gettid()
		entered <- syscall.Unshare(syscall.CLONE_NEWNET)
		for task := range n.tasks {
			task()
		}
	}()
	t.Cleanup(func() { close(n.tasks); <-left })
	if err := <-entered; err != nil {
		return nil, fmt.Errorf("no network namespace: %w (it needs root)", err)
	}
	// Of the addresses for benchmarks, RFC 2544. Neighbours are told, so that nobody has to ask for them once the link
	// is back.
	net4 := rand.IntN(1 << 14)
	prefix := fmt.Sprintf("198.18.%d.", net4>>6)
	here, there := prefix+strconv.Itoa(net4&63<<2+1), prefix+strconv.Itoa(net4&63<<2+2)
	name := fmt.Sprintf("swl%x", net4)
	n.link, n.addr = name+"b", there
	const macHere, macThere = "02:00:00:00:00:01", "02:00:00:00:00:02"
	command := func(args string) error {
		words := strings.Fields(args)
		if out, err := exec.Command(ip, words...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s %s: %w: %s", words[0], words[1], err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	for _, args := range []string{
		fmt.Sprintf("link add %sa address %s type veth peer name %s address %s netns %d", name, macHere, n.link, macThere, thread),
		fmt.Sprintf("addr add %s/30 dev %sa", here, name),
		fmt.Sprintf("link set %sa up", name),
		fmt.Sprintf("neigh replace %s lladdr %s dev %sa nud permanent", there, macThere, name),
	} {
		if err := command(args); err != nil {
			return nil, err
		}
	}
	for _, args := range []string{
		fmt.Sprintf("addr add %s/30 dev %s", there, n.link),
		fmt.Sprintf("link set %s up", n.link),
		fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", here, macHere, n.link),
	} {
		n.do(func() { err = command(args) })
		if err != nil {
			return nil, err
		}
	}
	return n, nil
}

// do runs the function in the namespace.
func (n *namespace) do(f func()) {
	done := make(chan struct{})
	n.tasks <- func() { defer close(done); f() }
	<-done
}

// listen returns a listener in the namespace.
func (n *namespace) listen() (l net.Listener, err error) {
	n.do(func() { l, err = net.Listen("tcp4", n.addr+":0") })
	return l, err
}

// set takes the link down, or up again.
func (n *namespace) set(state string) (err error) {
	n.do(func() {
		var out []byte
		if out, err = exec.Command("ip", "link", "set", n.link, state).CombinedOutput(); err != nil {
			err = fmt.Errorf("ip link set %s %s: %w: %s", n.link, state, err, out)
		}
	})
	return err
}
