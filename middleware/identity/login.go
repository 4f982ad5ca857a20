package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seawall-go/seawall"
)

// The defaults of a Login.
const (
	DefaultMaxBody = 4 << 10
	DefaultMaxWait = 5 * time.Second
)

// Login says how the account of a login is found in the request's body, which is read before the request is limited, and
// given back to the handler. The handler must take the account from there.
type Login struct {
	// Routes are the routes of logins, as the router has them, such as "/v1/login", for every method: a GET without a body
	// is the page that asks for the account, and no login. Required.
	Routes []string
	// Account finds the account; nil is JSONMember("account").
	Account Account
	// Normalize makes one of the spellings of an account; nil is Normalize. It must make one of all that the handler takes
	// for the same account, or an attacker gets a quota for each.
	Normalize func(account string) string
	// MaxBody is how many bytes the body may have; zero is 4096. Larger ones are answered with 413.
	MaxBody int64
	// MaxWait is how long a client may take to send it; zero is 5 s. A shorter http.Server.ReadTimeout stands. Where the
	// server has no deadlines, it is the server's.
	MaxWait time.Duration
}

// WithLogin adds to what base identifies the keys of a login, for policies to ask for: see LoginPair, LoginAccount and
// LoginAddress. A login whose account is not found is answered with 400, if the other policies admit it.
func (h *Hasher) WithLogin(base Identify, l Login) (Identify, error) {
	if base == nil {
		return nil, errors.New("identity: WithLogin: base is nil; want what identifies callers, such as Hasher.ByAddress()")
	}
	if len(l.Routes) == 0 {
		return nil, errors.New(`identity: Login.Routes is empty; want the routes of logins, such as "/v1/login"`)
	}
	for i, route := range l.Routes {
		if !seawall.ValidRoute(route) || strings.HasSuffix(route, "*") {
			return nil, fmt.Errorf("identity: Login.Routes[%d] is %q; want a path as the router has it, such as /v1/login, without the method", i, route)
		}
	}
	if l.MaxBody < 0 || l.MaxWait < 0 {
		return nil, fmt.Errorf("identity: Login.MaxBody is %d and MaxWait is %v; want positive values, or zero for %d and %v",
			l.MaxBody, l.MaxWait, DefaultMaxBody, DefaultMaxWait)
	}
	l.Routes = slices.Clone(l.Routes)
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
		if err := base(c, r); err != nil || !slices.Contains(l.Routes, c.Route()) {
			return err
		}
		// Before the body is waited for: a framework may have taken its context back by then.
		req, control, address := c.Request(), http.NewResponseController(c.Response()), h.Address(c.Address())
		account := ""
		page, err := l.asksForThePage(req)
		if !page && err == nil {
			account, err = l.account(req, control)
		}
		if page || err != nil {
			r.More = append([]seawall.Key{noAccount}, r.More...)
			return err
		}
		r.More = append([]seawall.Key{h.Key(kindPair, account, address), h.Key(kindAccount, account), h.Key(kindAddress, address)}, r.More...)
		return nil
	}, nil
}

// asksForThePage tells a request for the page that asks for the account from one that names it. One that names it in its
// URL is an error, since the handler might take it from there.
func (l *Login) asksForThePage(r *http.Request) (bool, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		return false, nil
	}
	if r.ContentLength != 0 && r.Body != nil {
		return false, nil
	}
	if r.URL.RawQuery != "" {
		if _, err := l.Account(r, nil); errors.Is(err, errInURL) {
			return false, err
		}
	}
	return true, nil
}

func (l *Login) account(r *http.Request, control *http.ResponseController) (string, error) {
	body, err := l.read(r, control)
	if err != nil {
		return "", err
	}
	account, err := l.Account(r, body)
	if err == nil {
		account = l.Normalize(account)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return "", e
	}
	if err != nil || account == "" { // the error's text may be the client's
		return "", &Error{Status: http.StatusBadRequest, Detail: "The body of a login must name one account."}
	}
	return account, nil
}

// read returns the body and gives it back to the handler.
func (l *Login) read(req *http.Request, control *http.ResponseController) ([]byte, error) {
	if req.Body == nil {
		req.Body = http.NoBody
	}
	// Also of a body that is too large: the server reads some of it before it answers.
	deadline := control.SetReadDeadline(time.Now().Add(l.patience(req.Context())))
	if deadline != nil && !errors.Is(deadline, http.ErrNotSupported) {
		return nil, deadline
	}
	if req.ContentLength > l.MaxBody {
		return nil, tooLarge(l.MaxBody)
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, l.MaxBody+1))
	if limited, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(limited.Limit)
	}
	switch {
	case err != nil:
		return nil, &Error{Status: http.StatusBadRequest, Detail: "The body of the login did not arrive.", cause: err}
	case int64(len(body)) > l.MaxBody:
		return nil, tooLarge(l.MaxBody)
	case req.Context().Err() != nil: // nobody waits for the answer any more
		return nil, &Error{Status: http.StatusRequestTimeout, Detail: "The body of the login arrived too late.", cause: req.Context().Err()}
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

// patience is how long the body is waited for.
func (l *Login) patience(ctx context.Context) time.Duration {
	if server, ok := ctx.Value(http.ServerContextKey).(*http.Server); ok && server.ReadTimeout > 0 {
		return min(l.MaxWait, server.ReadTimeout)
	}
	return l.MaxWait
}

func tooLarge(limit int64) error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The body of a login may have %d bytes.", limit)}
}
