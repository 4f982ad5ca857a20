package identity

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/seawall-go/seawall"
)

// The defaults of a Login.
const (
	DefaultMaxBody = 4 << 10
	DefaultMaxWait = 5 * time.Second
)

// Login says how the account of a login is found in the request's body, which is read before the request is limited, and
// given back to the handler.
type Login struct {
	// Routes are the routes of logins, "METHOD /pattern" as registered with the router, such as "POST /v1/login". Required.
	Routes []string
	// Account finds the account; nil is JSONMember("account").
	Account Account
	// Normalize makes one of the spellings of an account; nil is Normalize. It must make one of all that the handler takes
	// for the same account, or an attacker gets a quota for each.
	Normalize func(account string) string
	// MaxBody is how many bytes the body may have; zero is 4096. Larger ones are answered with 413.
	MaxBody int64
	// MaxWait is how long a client may take to send it; zero is 5 s. Where the server has no deadlines, it is the server's.
	MaxWait time.Duration
}

// WithLogin adds to what base identifies the keys of a login, for policies to ask for: see LoginPair, LoginAccount and
// LoginAddress. A login whose account is not found is answered with 400.
func (h *Hasher) WithLogin(base Identify, l Login) (Identify, error) {
	if base == nil {
		return nil, errors.New("identity: WithLogin: base is nil; want what identifies callers, such as Hasher.ByAddress()")
	}
	if len(l.Routes) == 0 {
		return nil, errors.New(`identity: Login.Routes is empty; want the routes of logins, such as "POST /v1/login"`)
	}
	routes, err := RouteSet(l.Routes)
	if err != nil {
		return nil, fmt.Errorf("identity: Login.Routes: %w", err)
	}
	if l.MaxBody < 0 || l.MaxWait < 0 {
		return nil, fmt.Errorf("identity: Login.MaxBody is %d and MaxWait is %v; want positive values, or zero for %d and %v",
			l.MaxBody, l.MaxWait, DefaultMaxBody, DefaultMaxWait)
	}
	if l.Account == nil {
		l.Account = JSONMember("account")
	}
	if l.Normalize == nil {
		l.Normalize = Normalize
	}
	if l.MaxBody == 0 {
		l.MaxBody = DefaultMaxBody
	}
	if l.MaxWait == 0 {
		l.MaxWait = DefaultMaxWait
	}
	return func(c Call, r *seawall.Request) error {
		if err := base(c, r); err != nil {
			return err
		}
		if login, _ := routes.Find(c.Request().Method, c.Route()); !login {
			return nil
		}
		account, err := l.account(c)
		if err != nil {
			return err
		}
		address := h.Address(c.Address())
		r.More = append([]seawall.Key{h.Key("login", account, address), h.Key("acct", account), h.Key("addr", address)}, r.More...)
		return nil
	}, nil
}

// LoginPair is the key of a login's account and client address together, for a policy's Key: an attacker cannot lock out
// somebody who logs in from elsewhere.
//
// A request that WithLogin did not take for a login has no such key if it is a read, such as one for the page that asks for
// the account. Anything else on such a policy counts as its caller: a policy on logins whose Identify lacks WithLogin
// limits callers, rather than nobody.
func LoginPair(r *seawall.Request) seawall.Key { return loginKey(r, 0) }

// LoginAccount is the key of a login's account, wherever it comes from. What is no login is as for LoginPair.
func LoginAccount(r *seawall.Request) seawall.Key { return loginKey(r, 1) }

// LoginAddress is the key of a login's client address: ByAddress' own. What is no login is as for LoginPair.
func LoginAddress(r *seawall.Request) seawall.Key { return loginKey(r, 2) }

func loginKey(r *seawall.Request, i int) seawall.Key {
	switch {
	case i < len(r.More):
		return r.More[i]
	case r.Tier == seawall.Read:
		return seawall.Key{}
	}
	return r.Key
}

func (l *Login) account(c Call) (string, error) {
	body, err := l.read(c)
	if err != nil {
		return "", err
	}
	account, err := l.Account(body)
	if err == nil {
		account = l.Normalize(account)
	}
	if err == nil && account == "" {
		err = errors.New("the account is empty")
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return "", e
	}
	if err != nil { // its text may be the client's
		return "", &Error{http.StatusBadRequest, "The body of a login must name one account."}
	}
	return account, nil
}

// read returns the body and gives it back to the handler.
func (l *Login) read(c Call) ([]byte, error) {
	req, control := c.Request(), http.NewResponseController(c.Response())
	if req.ContentLength > l.MaxBody {
		return nil, l.tooLarge()
	}
	deadline := control.SetReadDeadline(time.Now().Add(l.MaxWait))
	if deadline != nil && !errors.Is(deadline, http.ErrNotSupported) {
		return nil, deadline
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, l.MaxBody+1))
	switch {
	case err != nil:
		return nil, &Error{http.StatusBadRequest, "The body of the login did not arrive."}
	case int64(len(body)) > l.MaxBody:
		return nil, l.tooLarge()
	}
	if deadline == nil {
		// There is nothing left to read. A deadline that passed while the handler works would end the request's context.
		if err := control.SetReadDeadline(time.Time{}); err != nil {
			return nil, err
		}
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), req.Body}
	return body, nil
}

func (l *Login) tooLarge() error {
	return &Error{http.StatusRequestEntityTooLarge, fmt.Sprintf("The body of a login may have %d bytes.", l.MaxBody)}
}
