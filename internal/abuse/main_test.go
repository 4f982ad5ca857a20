package abuse

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// soon is more than anything takes that ends at all.
const soon = 30 * time.Second

// binaries is where the command is built.
var binaries string

func TestMain(m *testing.M) {
	logging.Disable()
	var err error
	if binaries, err = os.MkdirTemp("", "abuse"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(binaries)
		os.Exit(code)
	}))
}

// long tells whether tests attack with all their might.
func long() bool { return os.Getenv("SEAWALL_ABUSE") == "long" }

// count returns how many there are of something that an attack has: all with SEAWALL_ABUSE=long, otherwise a part, and it
// says so.
func count(t *testing.T, what string, part, all int) int {
	t.Helper()
	if long() {
		return all
	}
	if part < all {
		t.Logf("%d of %d %s: all of them with SEAWALL_ABUSE=long", part, all, what)
	}
	return part
}
