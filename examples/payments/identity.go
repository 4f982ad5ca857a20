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

// protect mounts the stack. A key is a stand-in for real authentication: sk_live_… and sk_test_… with any suffix; whoever
// has none is its address. A login also has the pair of its account and address.
func (o options) protect(s *seawall.Stack) (echo.MiddlewareFunc, error) {
	h, err := identity.NewHasher(identity.Config{Secret: []byte(os.Getenv("SEAWALL_SECRET")), Shared: s})
	if err != nil {
		return nil, fmt.Errorf("environment SEAWALL_SECRET: %w", err)
	}
	byKey := h.ByAPIKey(identity.APIKey{
		Verify: func(_ identity.Call, key string) bool {
			return strings.HasPrefix(key, "sk_live_") || strings.HasPrefix(key, "sk_test_")
		},
		Test: func(key string) bool { return strings.HasPrefix(key, "sk_test_") },
	})
	identify, err := h.WithLogin(byKey, identity.Login{Routes: []string{loginRoute}})
	if err != nil {
		return nil, err
	}
	return middleware.StackConfig{Stack: s, Config: middleware.Config{
		Identify: identify, Tiers: map[string]seawall.Tier{"POST /v1/charges": seawall.Critical},
	}}.ToMiddleware()
}
