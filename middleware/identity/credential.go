package identity

import (
	"strings"

	"github.com/seawall-go/seawall"
)

// Credential finds what a caller shows; "" is nothing.
type Credential func(c Call) string

// Bearer is the bearer token of the Authorization header. A request with several such headers has none: what
// authenticates may accept any of them, and the others would be a free choice of key.
func Bearer(c Call) string {
	const scheme = "bearer "
	v := single(c.Request().Header["Authorization"])
	if len(v) <= len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) {
		return ""
	}
	return strings.TrimSpace(v[len(scheme):])
}

// BasicUser is the user of the Authorization header's basic authentication, where some APIs take their keys. A request
// with several such headers has none.
func BasicUser(c Call) string {
	if len(c.Request().Header["Authorization"]) != 1 {
		return ""
	}
	user, _, _ := c.Request().BasicAuth()
	return user
}

// Header is the value of a header, such as "X-API-Key". A request with several such headers has none.
func Header(name string) Credential {
	return func(c Call) string { return strings.TrimSpace(single(c.Request().Header.Values(name))) }
}

// Query is the value of a parameter of the URL's query. It is better not used: URLs are written to logs on their way. A
// request with several such parameters has none.
func Query(name string) Credential {
	return func(c Call) string { return single(c.Request().URL.Query()[name]) }
}

// single is the only value.
func single(values []string) string {
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

// APIKey says how callers show their keys.
type APIKey struct {
	// Credentials are where a key may be; nil is Bearer alone. A request that shows different ones has none.
	Credentials []Credential
	// Verify tells whether a key is one of the application's. One that is not does not count: its caller is known by its
	// address; where finding out can fail, write an Identify instead. Nil believes every key, which is right only behind
	// something that authenticates; such callers do not count as seawall.Request.Authenticated.
	Verify func(c Call, key string) bool
	// Test tells which keys are for trying things out: their requests are of the tier seawall.TestMode, on every route.
	// Nil is none.
	Test func(key string) bool
}

// ByAPIKey identifies callers by their API key, and those without one by their address. Each key has quotas of its own: to
// have one for all the keys of a customer, see ByPrincipal.
func (h *Hasher) ByAPIKey(cfg APIKey) Identify {
	if len(cfg.Credentials) == 0 {
		cfg.Credentials = []Credential{Bearer}
	}
	return func(c Call, r *seawall.Request) error {
		key := cfg.shown(c)
		if key == "" || cfg.Verify != nil && !cfg.Verify(c, key) {
			r.Key = h.addressKey(c)
			return nil
		}
		r.Key, r.Authenticated = h.Key("key", key), cfg.Verify != nil
		if cfg.Test != nil && cfg.Test(key) {
			r.Tier = seawall.TestMode
		}
		return nil
	}
}

// shown is the key of a request, "" if it shows none or several.
func (cfg *APIKey) shown(c Call) (key string) {
	for _, find := range cfg.Credentials {
		switch found := find(c); {
		case found == "" || found == key:
		case key != "":
			return ""
		default:
			key = found
		}
	}
	return key
}

// Principal is whom the application has authenticated.
type Principal struct {
	// ID is the user's, or the tenant's with all its keys and users. "" is nobody.
	ID string
	// Plan is seawall.Request.Plan.
	Plan string
	// Test tells that it is only trying things out: seawall.TestMode.
	Test bool
}

// ByPrincipal identifies callers by whom the application has authenticated, and those who are nobody by their address.
func (h *Hasher) ByPrincipal(principal func(c Call) Principal) Identify {
	return func(c Call, r *seawall.Request) error {
		p := principal(c)
		if p.ID == "" {
			r.Key = h.addressKey(c)
			return nil
		}
		r.Key, r.Plan, r.Authenticated = h.Key("user", p.ID), p.Plan, true
		if p.Test {
			r.Tier = seawall.TestMode
		}
		return nil
	}
}
