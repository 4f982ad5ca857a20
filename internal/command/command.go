// Package command builds commands of this repository, for tests that run them as processes.
package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// Build builds commands of the main module, given as packages such as ./examples/payments, into a folder, without the race
// detector and as users build them: whatever go.work there may be does not count. Each is called by the last part of its
// path.
func Build(folder string, packages ...string) error { return BuildIn(".", folder, packages...) }

// BuildIn is Build in another module, given by its folder, such as internal/bench.
func BuildIn(module, folder string, packages ...string) error {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return fmt.Errorf("command: it is not known where the source is; want a build without -trimpath")
	}
	cmd := exec.Command("go", append([]string{"build", "-buildvcs=false", "-o", folder + string(filepath.Separator)}, packages...)...)
	cmd.Dir = filepath.Join(filepath.Dir(here), "..", "..", module)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// Log is what a process has written. It may be read while the process writes.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
