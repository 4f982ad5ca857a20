package identity

import (
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/seawall-go/seawall"
)

// Credential finds what a caller shows, which is more than one thing if a client likes: what authenticates may accept any
// of them.
type Credential func(c Call) []string

// Bearer is the bearer token of the Authorization header. It ends at the first space.
func Bearer(c Call) (tokens []string) { return appendBearer(nil, c) }

func appendBearer(tokens []string, c Call) []string {
	for _, v := range c.Request().Header["Authorization"] {
		scheme, rest := cutField(v)
		if !strings.EqualFold(scheme, "bearer") {
			continue
		}
		if token, _ := cutField(rest); token != "" {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// cutField returns the first of a text's fields, which are separated by space, and what is behind it.
func cutField(text string) (field, rest string) {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

// BasicUser is the user of the Authorization header's basic authentication, where some APIs take their keys.
func BasicUser(c Call) (users []string) {
	for _, v := range c.Request().Header["Authorization"] {
		one := http.Request{Header: http.Header{"Authorization": {v}}}
		if user, _, ok := one.BasicAuth(); ok {
			users = append(users, user)
		}
	}
	return users
}

// Header is the value of a header, such as "X-API-Key".
func Header(name string) Credential {
	name = http.CanonicalHeaderKey(name)
	return func(c Call) (values []string) {
		for _, v := range c.Request().Header[name] {
			values = append(values, strings.TrimSpace(v))
		}
		return values
	}
}

// Query is the value of a parameter of the URL's query. It is better not used: URLs are written to logs on their way.
func Query(name string) Credential {
	return func(c Call) []string { return c.Request().URL.Query()[name] }
}

// APIKey says how callers show their keys.
type APIKey struct {
	// Credentials are where a key may be; nil is Bearer alone. A request that shows several keys is answered with 400,
	// unless Verify knows exactly one of them: the others would be a free choice of quotas.
	Credentials []Credential
	// Verify tells whether a key is one of the application's. One that is not does not count: its caller is known by its
	// address; where finding out can fail, write an Identify instead. Nil believes every key, which is right only behind
	// something that authenticates; such callers do not count as seawall.Request.Authenticated.
	Verify func(c Call, key string) bool
	// Test tells which keys are for trying things out: their requests are of the tier seawall.TestMode, on every route.
	// Nil is none.
	Test func(key string) bool
	// Name returns seawall.Request.Name of a key's caller, which must not tell the key; nil is none.
	Name func(c Call, key string) string
}

// ByAPIKey identifies callers by their API key, and those without one by their address. Each key has quotas of its own: to
// have one for all the keys of a customer, see ByPrincipal.
func (h *Hasher) ByAPIKey(cfg APIKey) Identify {
	return func(c Call, r *seawall.Request) error {
		key, err := cfg.shown(c)
		if err != nil || key == "" {
			r.Key = h.addressKey(c)
			return err
		}
		r.Key, r.Authenticated = h.Key("key", key), cfg.Verify != nil
		if cfg.Test != nil && cfg.Test(key) {
			r.Tier = seawall.TestMode
		}
		if cfg.Name != nil {
			r.Name = cfg.Name(c, key)
		}
		return nil
	}
}

// maxShown is how many different keys of one request are verified.
const maxShown = 4

// shown is the key of a request that counts, "" if there is none.
func (cfg *APIKey) shown(c Call) (key string, err error) {
	choice := choice{cfg: cfg}
	if len(cfg.Credentials) == 0 {
		var found [maxShown]string
		if err := choice.among(c, appendBearer(found[:0], c)); err != nil {
			return "", err
		}
	}
	for _, find := range cfg.Credentials {
		if err := choice.among(c, find(c)); err != nil {
			return "", err
		}
	}
	return choice.key, nil
}

// choice is of the one key that counts.
type choice struct {
	cfg   *APIKey
	shown [maxShown]string // all so far
	n     int              // of them
	key   string
}

// among goes on with what else a request shows. It is an error if more than one key counts.
func (ch *choice) among(c Call, keys []string) error {
	for _, found := range keys {
		if found == "" || slices.Contains(ch.shown[:ch.n], found) {
			continue
		}
		if ch.n == maxShown {
			return severalKeys()
		}
		ch.shown[ch.n] = found
		ch.n++
		if ch.cfg.Verify != nil && !ch.cfg.Verify(c, found) {
			continue
		}
		if ch.key != "" {
			return severalKeys()
		}
		ch.key = found
	}
	return nil
}

func severalKeys() error {
	return &Error{Status: http.StatusBadRequest, Detail: "The request shows several keys. Send one."}
}

// Principal is whom the application has authenticated.
type Principal struct {
	// ID is the user's, or the tenant's with all its keys and users. "" is nobody.
	ID string
	// Plan is seawall.Request.Plan.
	Plan string
	// Name is seawall.Request.Name.
	Name string
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
		r.Key, r.Plan, r.Name, r.Authenticated = h.Key("user", p.ID), p.Plan, p.Name, true
		if p.Test {
			r.Tier = seawall.TestMode
		}
		return nil
	}
}
