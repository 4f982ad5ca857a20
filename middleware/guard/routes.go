package guard

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/seawall-go/seawall"
)

// route is a method and a pattern of the router's.
type route struct{ method, pattern string }

// table says something of some routes.
type table[V any] map[route]V

func newTable[V any](of map[string]V) (table[V], error) {
	t := make(table[V], len(of))
	for name, v := range of {
		method, pattern, _ := strings.Cut(name, " ")
		if method == "" || method != strings.ToUpper(method) || !strings.HasPrefix(pattern, "/") || strings.ContainsAny(pattern, " {}") {
			return nil, fmt.Errorf(`route %q: want "METHOD /pattern", such as "GET /v1/charges/:id"`, name)
		}
		t[route{method, pattern}] = v
	}
	return t, nil
}

// find looks up a route; HEAD is GET where nothing else is said.
func (t table[V]) find(method, pattern string) (v V, ok bool) {
	if len(t) == 0 {
		return v, false
	}
	if v, ok = t[route{method, pattern}]; !ok && method == http.MethodHead {
		v, ok = t[route{http.MethodGet, pattern}]
	}
	return v, ok
}

func tiersOf(of map[string]seawall.Tier) (table[seawall.Tier], error) {
	for name, tier := range of {
		if tier < seawall.TestMode || tier > seawall.Critical {
			return nil, fmt.Errorf("route %q has tier %d; want seawall.TestMode, Read, Write or Critical", name, tier)
		}
	}
	return newTable(of)
}

// HealthProbe tells whether a request is a probe of Kubernetes' kind: GET or HEAD on a registered route /healthz, /livez
// or /readyz. A probe that is refused has an instance taken away just when it is needed, so adapters skip them unless
// told what to skip.
func HealthProbe(method, route string) bool {
	switch route {
	case "/healthz", "/livez", "/readyz":
		return method == http.MethodGet || method == http.MethodHead
	}
	return false
}
