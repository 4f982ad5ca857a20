package guard

import (
	"fmt"
	"net/http"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/identity"
)

func tiersOf(of map[string]seawall.Tier) (identity.Routes[seawall.Tier], error) {
	for name, tier := range of {
		if tier < seawall.TestMode || tier > seawall.Critical {
			return nil, fmt.Errorf("route %q has tier %d; want seawall.TestMode, Read, Write or Critical", name, tier)
		}
	}
	return identity.NewRoutes(of)
}

// HealthProbe tells whether a request is a probe of Kubernetes' kind: GET or HEAD on a registered route /healthz, /livez
// or /readyz. A probe that is refused has an instance taken away just when it is needed, so adapters skip them unless
// told to count them.
func HealthProbe(method, route string) bool {
	switch route {
	case "/healthz", "/livez", "/readyz":
		return method == http.MethodGet || method == http.MethodHead
	}
	return false
}
