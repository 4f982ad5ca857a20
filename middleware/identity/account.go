package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Normalize returns a name that is the same for all spellings of an account that most applications take for one: in
// Unicode's NFKC form, without regard to case, to space at its ends and how much of it is between, and to characters that
// are not seen. Letters of different scripts that look alike stay different.
func Normalize(account string) string {
	seen := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
			unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(account))
	// Both cases before folding, or what a handler lowers or raises by itself would be another account: İ and ı.
	plain := strings.ToLower(strings.ToUpper(norm.NFKC.String(seen)))
	folded := strings.ReplaceAll(cases.Fold().String(plain), "i\u0307", "i") // what is left of a dotted I that was in two parts
	return strings.Join(strings.Fields(norm.NFKC.String(folded)), " ")
}

// Account finds the account in a login and its body. An *Error is answered as it is, any other error with 400 and without
// its text. The request's own body must not be read.
type Account func(r *http.Request, body []byte) (string, error)

// JSONMember is the text of a member of a JSON object. A request that says it twice has none, since the handler might read
// the other one: in whatever case, in the URL, or as a form. So has one that says that it is XML, or a form of several
// parts.
func JSONMember(name string) Account {
	wrong := &Error{Status: http.StatusBadRequest, Detail: fmt.Sprintf("The body of a login must be a JSON object with one text %q.", name)}
	return func(r *http.Request, body []byte) (account string, err error) {
		if inURL(r, name) {
			return "", &Error{Status: wrong.Status, Detail: wrong.Detail, cause: errInURL}
		}
		mediaType := mediaTypeOf(r)
		if strings.HasSuffix(mediaType, "xml") || strings.HasPrefix(mediaType, "multipart/") ||
			mediaType == formType && inQuery(string(body), name) { // curl says so of whatever it sends
			return "", wrong
		}
		d := json.NewDecoder(bytes.NewReader(body))
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return "", wrong
		}
		found := 0
		for d.More() {
			member, err := d.Token()
			if err != nil {
				return "", wrong
			}
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				return "", wrong
			}
			if text, _ := member.(string); strings.EqualFold(text, name) {
				found++
				if err := json.Unmarshal(value, &account); err != nil {
					return "", wrong
				}
			}
		}
		_, end := d.Token()
		_, after := d.Token()
		if end != nil || !errors.Is(after, io.EOF) || found != 1 || account == "" {
			return "", wrong
		}
		return account, nil
	}
}

// FormField is the value of a field of an HTML form, application/x-www-form-urlencoded. A request that has it twice has
// none, also if one is in the URL.
func FormField(name string) Account {
	wrong := &Error{Status: http.StatusBadRequest, Detail: fmt.Sprintf("The body of a login must be a form with one field %q.", name)}
	return func(r *http.Request, body []byte) (string, error) {
		if inURL(r, name) {
			return "", &Error{Status: wrong.Status, Detail: wrong.Detail, cause: errInURL}
		}
		values, err := url.ParseQuery(string(body))
		if err != nil || mediaTypeOf(r) != formType || len(values[name]) != 1 || values[name][0] == "" {
			return "", wrong
		}
		return values[name][0], nil
	}
}

// errInURL lies behind the error of a request whose URL names an account.
var errInURL = errors.New("the URL names an account")

const formType = "application/x-www-form-urlencoded"

// mediaTypeOf is what the request says of its body, in small letters and without parameters.
func mediaTypeOf(r *http.Request) string {
	text, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(text))
}

// inURL tells whether the URL has a field, or cannot be read, since others may read it.
func inURL(r *http.Request, name string) bool {
	if r.URL.RawQuery == "" {
		return false
	}
	_, err := url.ParseQuery(r.URL.RawQuery)
	return err != nil || inQuery(r.URL.RawQuery, name)
}

// inQuery tells whether a query, or a form, has a field, in whatever case.
func inQuery(query, name string) bool {
	values, _ := url.ParseQuery(query)
	for field := range values {
		if strings.EqualFold(field, name) {
			return true
		}
	}
	return false
}
