package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// nameEnv is the environment variable that tells a process that it is one of several workers, and which.
const nameEnv = "SEAWALL_OUTBOUND_WORKER"

// launch runs n workers, processes of their own, until they have ended. When ctx is done they are told to end.
// One that ends early is not replaced: the others spend what it did not.
func launch(ctx context.Context, n int, args []string, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() {
			name := fmt.Sprintf("worker %d", i+1)
			if err := runWorker(ctx, name, self, args, out); err != nil && !errors.Is(err, context.Canceled) {
				errs[i] = fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// runWorker runs one worker. Its input is a pipe that ends when this process does, however that comes about.
func runWorker(ctx context.Context, name, path string, args []string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // it is this program
	cmd.Env = append(os.Environ(), nameEnv+"="+name)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 3 * (grace + goodbye) // then it is killed
	if _, err := cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Wait()
}

// orphaned calls then when the process that launched this one is gone.
func orphaned(then func()) {
	_, _ = io.Copy(io.Discard, os.Stdin)
	then()
}
