package faults

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// binaries is where processes under test are built.
var binaries string

// account is what became of the faults of a long run, for its last lines.
var account string

func TestMain(m *testing.M) {
	runAsKeeper()
	var err error
	if binaries, err = os.MkdirTemp("", "faults"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m,
		// toxiproxy's own: it leaves one behind where a client has gone while an answer was on its way to it, since
		// nobody reads the link's output any more (its ToxicLink.write returns).
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"),
		goleak.Cleanup(func(code int) {
			_ = os.RemoveAll(binaries)
			fmt.Print(account)
			os.Exit(code)
		}))
}
