package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
)

const loginRoute = "/v1/login"

// customers are what this API's own people call some of those who have a key: a stand-in for a look-up by account.
func customers(_ identity.Call, key string) string {
	switch key {
	case "sk_live_acme":
		return "Acme Inc."
	case "sk_live_globex":
		return "Globex"
	}
	return ""
}

// newCallers returns what makes keys and ids of callers: by the secret given, or by one that instances agree on through
// their store.
func newCallers(store seawall.Store) (*identity.Hasher, error) {
	shared, _ := store.(seawall.SecretSharer)
	h, err := identity.NewHasher(identity.Config{Secret: []byte(os.Getenv("SEAWALL_SECRET")), Shared: shared})
	if err != nil {
		return nil, fmt.Errorf("environment SEAWALL_SECRET: %w", err)
	}
	return h, nil
}

// protect mounts the stack. A key is a stand-in for real authentication: sk_live_… and sk_test_… with any suffix; whoever
// has none is its address. A login also has the pair of its account and address.
func protect(s *seawall.Stack, h *identity.Hasher) (echo.MiddlewareFunc, error) {
	byKey := h.ByAPIKey(identity.APIKey{
		Verify: func(_ identity.Call, key string) bool {
			return strings.HasPrefix(key, "sk_live_") || strings.HasPrefix(key, "sk_test_")
		},
		Test: func(key string) bool { return strings.HasPrefix(key, "sk_test_") },
		Name: customers,
	})
	identify, err := h.WithLogin(byKey, identity.Login{Routes: []string{loginRoute}})
	if err != nil {
		return nil, err
	}
	return middleware.StackConfig{Stack: s, Config: middleware.Config{
		Identify: identify, Tiers: map[string]seawall.Tier{"POST /v1/charges": seawall.Critical},
	}}.ToMiddleware()
}
