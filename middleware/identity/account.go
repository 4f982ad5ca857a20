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

// Normalize returns a name that is the same for all spellings of an account that look alike: in Unicode's NFKC form,
// without regard to case, to space at its ends and how much of it is between, and to characters that are not seen.
func Normalize(account string) string {
	folded := norm.NFKC.String(cases.Fold().String(norm.NFKC.String(account)))
	seen := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, folded)
	return strings.Join(strings.Fields(seen), " ")
}

// Account finds the account in the body of a login. An *Error is answered as it is, any other error with 400 and without
// its text.
type Account func(body []byte) (string, error)

// JSONMember is the text of a member of a JSON object. A body that has the member twice, in whatever case, has none: the
// handler might read the other one.
func JSONMember(name string) Account {
	wrong := &Error{http.StatusBadRequest, fmt.Sprintf("The body of a login must be a JSON object with one text %q.", name)}
	return func(body []byte) (account string, err error) {
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

// FormField is the value of a field of an HTML form. A body that has the field twice has none.
func FormField(name string) Account {
	wrong := &Error{http.StatusBadRequest, fmt.Sprintf("The body of a login must be a form with one field %q.", name)}
	return func(body []byte) (string, error) {
		values, err := url.ParseQuery(string(body))
		if account := single(values[name]); err == nil && account != "" {
			return account, nil
		}
		return "", wrong
	}
}
