package seawalltest

import (
	"fmt"
	"strings"

	"github.com/seawall-go/seawall"
)

// parse splits a name into layer and policy; without a colon policy is empty. A name that nothing can have
// panics: a test that scripts it, or counts it and expects none, would pass for the wrong reason.
func parse(name string) (layer, policy string) {
	layer, policy, both := strings.Cut(name, ":")
	err := seawall.ValidName("layer", layer)
	if err == nil && both {
		err = seawall.ValidName("policy", policy)
	}
	if err != nil {
		panic(fmt.Sprintf(`seawalltest: %q: want a layer's name, or "layer:policy": %v`, name, err))
	}
	return layer, policy
}
