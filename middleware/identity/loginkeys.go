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

// noAccount is among the keys of a login whose account was not found, and of the page that asks for it.
var noAccount = seawall.NewKey("login-without-account") //nolint:gochecknoglobals // a constant

// LoginPair is the key of a login's account and client address together, for a policy's Key: an attacker cannot lock out
// somebody who logs in from elsewhere.
//
// A login whose account is not found has no such key, and is answered with 400. Neither has a request that is no login, if
// it is a read, such as one for the page that asks for the account. Anything else on such a policy counts as its caller: a
// policy on logins whose Identify lacks WithLogin, or the route, limits callers rather than nobody.
func LoginPair(r *seawall.Request) seawall.Key { return loginKey(r, 0) }

// LoginAccount is the key of a login's account, wherever it comes from. What is no login is as for LoginPair.
func LoginAccount(r *seawall.Request) seawall.Key { return loginKey(r, 1) }

// LoginAddress is the key of a login's client address: ByAddress' own. What is no login is as for LoginPair.
func LoginAddress(r *seawall.Request) seawall.Key { return loginKey(r, 2) }

// loginKey finds the keys of a login, one behind the other, by how the text of the first begins: with its kind's length.
func loginKey(r *seawall.Request, which int) seawall.Key {
	for i, key := range r.More {
		if key == noAccount {
			return seawall.Key{}
		}
		if strings.HasPrefix(key.String(), "5."+kindPair) && i+which < len(r.More) {
			return r.More[i+which]
		}
	}
	if r.Tier == seawall.Read {
		return seawall.Key{}
	}
	return r.Key
}
