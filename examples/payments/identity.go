package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware"
)

const (
	loginRoute = "/v1/login"
	maxLogin   = 4 << 10 // bytes of a login's body
	maxRead    = 5 * time.Second
)

// identify says who asks. A key is a stand-in for real authentication: sk_live_… and sk_test_… with any
// suffix; whoever has none is its address. A login also carries the pair of account and address.
func identify(h *middleware.Hasher) middleware.Identify {
	byAddress := middleware.ByAddress(h)
	return func(c echo.Context, r *seawall.Request) error {
		switch key := middleware.Bearer(c); {
		case strings.HasPrefix(key, "sk_test_"):
			r.Tier = seawall.TestMode
			fallthrough
		case strings.HasPrefix(key, "sk_live_"):
			r.Key, r.Authenticated = h.Key("key", key), true
		default:
			if err := byAddress(c, r); err != nil {
				return err
			}
		}
		if c.Path() != loginRoute {
			return nil
		}
		deadline := http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(maxRead))
		account, err := accountOf(c.Request())
		if err == nil {
			err = deadline
		}
		if err != nil {
			return err
		}
		r.More = []seawall.Key{h.Key("login", account, middleware.Address(c))}
		return nil
	}
}

// accountOf reads the account of a login and gives the body back to the handler.
func accountOf(req *http.Request) (string, error) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxLogin+1))
	switch {
	case err != nil:
		return "", echo.NewHTTPError(http.StatusBadRequest, "the body could not be read")
	case len(body) > maxLogin:
		return "", echo.NewHTTPError(http.StatusRequestEntityTooLarge, "the body is larger than 4096 bytes")
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var login struct {
		Account string `json:"account"`
	}
	if err := json.Unmarshal(body, &login); err != nil || strings.TrimSpace(login.Account) == "" {
		return "", echo.NewHTTPError(http.StatusBadRequest, `want a JSON body such as {"account":"alice"}`)
	}
	return strings.ToLower(strings.TrimSpace(login.Account)), nil
}
