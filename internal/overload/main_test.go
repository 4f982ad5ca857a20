package overload

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// binaries is where the command is built.
var binaries string

func TestMain(m *testing.M) {
	var err error
	if binaries, err = os.MkdirTemp("", "overload"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(binaries)
		os.Exit(code)
	}))
}

// long tells whether there are minutes to measure.
func long() bool { return os.Getenv("SEAWALL_OVERLOAD") == "long" }
