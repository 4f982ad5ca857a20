package identity

import (
	"strings"

	"github.com/seawall-go/seawall"
)

// The kinds of a login's keys.
const (
	kindPair    = "login"
	kindAccount = "acct"
	kindAddress = "addr"
)

// noAccount is among the keys of a login whose account was not found.
var noAccount = seawall.NewKey("login-without-account") //nolint:gochecknoglobals // a constant

// LoginPair is the key of a login's account and client address together, for a policy's Key: an attacker cannot lock out
// somebody who logs in from elsewhere.
//
// A login whose account is not found has no such key, and is answered with 400. Neither has a request that is no login, if
// it is a read, such as one for the page that asks for the account. Anything else on such a policy counts as its caller: a
// policy on logins whose Identify lacks WithLogin, or the route, limits callers rather than nobody.
func LoginPair(r *seawall.Request) seawall.Key { return loginKey(r, "5."+kindPair) }

// LoginAccount is the key of a login's account, wherever it comes from. What is no login is as for LoginPair.
func LoginAccount(r *seawall.Request) seawall.Key { return loginKey(r, "4."+kindAccount) }

// LoginAddress is the key of a login's client address: ByAddress' own. What is no login is as for LoginPair.
func LoginAddress(r *seawall.Request) seawall.Key { return loginKey(r, "4."+kindAddress) }

// loginKey finds a key by how its text begins: with its kind, behind the kind's length.
func loginKey(r *seawall.Request, prefix string) seawall.Key {
	for _, key := range r.More {
		if strings.HasPrefix(key.String(), prefix) {
			return key
		}
		if key == noAccount {
			return seawall.Key{}
		}
	}
	if r.Tier == seawall.Read {
		return seawall.Key{}
	}
	return r.Key
}
