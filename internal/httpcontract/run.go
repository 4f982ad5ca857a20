package httpcontract

import "testing"

// Run asks an adapter all that the suite asks.
func Run(t *testing.T, a Adapter) {
	for _, part := range []struct {
		name string
		ask  func(t *testing.T)
	}{
		{"headers", a.headers},
		{"refusals", a.refusals},
		{"what callers send", a.callersText},
		{"identity", a.identity},
		{"logins", a.logins},
		{"bodies", a.bodies},
		{"routes", a.routes},
		{"tiers", a.tiers},
		{"slots", a.slotsGivenBack},
		{"streams", a.streams},
		{"mounts", a.mounts},
		{"failures", a.failures},
		{"probes and proxies", a.probesAndProxies},
		{"mistakes", a.mistakes},
	} {
		t.Run(part.name, part.ask)
	}
}
