package flags

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seawall-go/seawall"
)

// Modes returns the modes of all layers and policies as of now, by layer or "layer:policy": those of a caller whom no
// flag is targeted at.
func (f *Flags) Modes() map[string]seawall.Mode {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, modes := f.current.Load(), make(map[string]seawall.Mode, len(f.gates))
	for name, g := range f.gates {
		modes[name] = s.mode(g, nil)
	}
	return modes
}

// reportModes logs which modes have changed. What is new has not.
func (f *Flags) reportModes() {
	before, now := f.modesTold, f.Modes()
	f.modesTold = now
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, known := before[name]; known && was != now[name] {
			changes = append(changes, fmt.Sprintf("%s %v -> %v", name, was, now[name]))
		}
	}
	if len(changes) > 0 {
		f.cfg.Logger.Info("seawall: modes have changed", "modes", strings.Join(changes, ", "))
	}
}
