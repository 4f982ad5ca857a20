package proof

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	_ "time/tzdata" // calendars are to be the same everywhere

	"go.uber.org/goleak"
)

// long tells whether the run may take its time.
func long() bool { return os.Getenv("SEAWALL_PROOF") == "long" }

func TestMain(m *testing.M) {
	runAsHolder()
	runAsWorker()
	defaults := map[string]string{"rapid.seed": "1", "rapid.nofailfile": "true", "rapid.shrinktime": "10s"}
	if long() {
		defaults["rapid.seed"], defaults["rapid.shrinktime"] = "0", "60s"
	}
	for name, value := range defaults { // what the command line says wins
		set(name, value)
	}
	goleak.VerifyTestMain(m)
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

// draws says how many cases the properties of a test draw, each: in a long run many more, and what the command
// line says if it says so. Tests that draw do not run at the same time.
func draws(n int) { drawsOrLong(n, 120*n) }

// drawsOrLong is draws where a long run has its own number.
func drawsOrLong(n, inLong int) {
	for _, arg := range os.Args {
		if strings.Contains(arg, "-rapid.checks") {
			return
		}
	}
	if long() {
		n = inLong
	}
	set("rapid.checks", strconv.Itoa(n))
}
