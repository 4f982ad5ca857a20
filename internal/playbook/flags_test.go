package playbook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A flag file that switches everything off, and one that leaves everything on.
const (
	everythingOff = `{"flags": {"seawall-enabled": {"state": "ENABLED", "variants": {"off": false}, "defaultVariant": "off"}}}`
	everythingOn  = `{"flags": {"seawall-enabled": {"state": "ENABLED", "variants": {"on": true}, "defaultVariant": "on"}}}`
)

// followed is how long the instance may take to follow the flag file: twice what is promised, on a busy machine.
const followed = 4 * time.Second

// write replaces flags.json at once.
func write(t *testing.T, dir, flags string) {
	t.Helper()
	fresh := filepath.Join(dir, "flags.json.new")
	require.NoError(t, os.WriteFile(fresh, []byte(flags), 0o600))
	require.NoError(t, os.Rename(fresh, filepath.Join(dir, "flags.json")))
}

// switchesAllOff tells whether nothing is decided with the flags.
func switchesAllOff(t *testing.T, flags string) bool {
	t.Helper()
	var file struct {
		Flags map[string]struct {
			Variants       map[string]any `json:"variants"`
			DefaultVariant string         `json:"defaultVariant"`
		} `json:"flags"`
	}
	require.NoError(t, json.Unmarshal([]byte(flags), &file))
	enabled := file.Flags["seawall-enabled"]
	return enabled.Variants[enabled.DefaultVariant] == false
}

// follow writes the flags and returns when the instance goes by them. What /seawall/ shows need not tell them from those
// before, so the instance is first led to where it tells: everything off or, if the flags do just that, on.
func (i *instance) follow(t *testing.T, dir, flags string) {
	t.Helper()
	isOff := func() bool {
		return !slices.ContainsFunc(i.modes(t), func(mode string) bool { return mode != "off" })
	}
	off := switchesAllOff(t, flags)
	detour := everythingOff
	if off {
		detour = everythingOn
	}
	for _, step := range []struct {
		flags string
		off   bool
	}{{detour, !off}, {flags, off}} {
		write(t, dir, step.flags)
		if !assert.Eventually(t, func() bool { return isOff() == step.off }, followed, 10*time.Millisecond) {
			require.FailNow(t, "flags are not followed", "%s\nlogged: %s", step.flags, strings.Join(i.logged(t), "\n"))
		}
	}
	time.Sleep(100 * time.Millisecond) // flags count one after the other, and /seawall/ does not show the last of them
}
