package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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

// Account finds the account in the body of a login.
type Account func(body []byte) (string, error)

// JSONMember is the text of a member of a JSON object. A body that has the member twice, in whatever case, has none: the
// handler might read the other one.
func JSONMember(name string) Account {
	return func(body []byte) (account string, err error) {
		d := json.NewDecoder(bytes.NewReader(body))
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return "", errors.New("not a JSON object")
		}
		found := 0
		for d.More() {
			t, err := d.Token()
			if err != nil {
				return "", err
			}
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				return "", err
			}
			if member, _ := t.(string); strings.EqualFold(member, name) {
				found++
				if err := json.Unmarshal(value, &account); err != nil {
					return "", err
				}
			}
		}
		if _, err := d.Token(); err != nil {
			return "", err
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return "", errors.New("more than a JSON object")
		}
		if found > 1 {
			return "", errors.New("the member is there twice")
		}
		return account, nil
	}
}

// FormField is the value of a field of an HTML form. A body that has the field twice has none.
func FormField(name string) Account {
	return func(body []byte) (string, error) {
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return "", err
		}
		return single(values[name]), nil
	}
}
