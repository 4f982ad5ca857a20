package proof

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	_ "time/tzdata" // calendars are to be the same everywhere
)

// long tells whether the run may take its time.
func long() bool { return os.Getenv("SEAWALL_PROOF") == "long" }

func TestMain(m *testing.M) {
	runAsWorker()
	defaults := map[string]string{"rapid.seed": "1", "rapid.nofailfile": "true", "rapid.shrinktime": "10s"}
	if long() {
		defaults["rapid.seed"], defaults["rapid.shrinktime"] = "0", "60s"
	}
	for name, value := range defaults { // what the command line says wins
		set(name, value)
	}
	os.Exit(m.Run())
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

// draws says how many cases the properties of a test draw, each: in a long run many more, and what the command
// line says if it says so. Tests that draw do not run at the same time.
func draws(n int) {
	for _, arg := range os.Args {
		if strings.Contains(arg, "-rapid.checks") {
			return
		}
	}
	if long() {
		n *= 120
	}
	set("rapid.checks", strconv.Itoa(n))
}
