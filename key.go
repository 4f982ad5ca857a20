package seawall

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// maxKeyText is the longest text a Key keeps as it is; with a namespace, a layer and a policy of the longest
// allowed names (32, 15 and 32 bytes) and what lies between them a stored key has at most 128 bytes.
const maxKeyText = 44

// Key says to whom a request is accounted. Two keys are equal exactly if they were built from the same
// parts, so no caller can choose a name that runs into another's. The zero Key is nobody's; a limiter does
// not limit it. Keys are values: compare them, use them in maps.
//
// A Key made from a secret or an address must be made from its keyed hash, never from the text itself: keys
// appear in store names.
type Key struct {
	text string
	hash uint64
}

// NewKey builds the key of the given parts, in order. Each part carries its length, so ("a", "b") and
// ("ab") differ. Text that is long or not plain (letters, digits and "-_.@:/=") is replaced by 192 bits of
// its SHA-256, so the text of a key is at most 44 bytes of plain ASCII and never holds a brace.
func NewKey(parts ...string) Key {
	var buf [2 * maxKeyText]byte
	text, plain := buf[:0], true
	for _, p := range parts {
		text = appendPart(text, p)
		plain = plain && plainText(p)
	}
	return keyOf(text, plain)
}

// HashedKey is the key of a kind, such as "user", and a hash that tells its callers apart: NewKey of the kind and the hash
// in base64, as used in URLs.
func HashedKey(kind string, hash []byte) Key {
	var buf, encoded [2 * maxKeyText]byte
	text := appendPart(buf[:0], kind)
	text = appendPart(text, base64.RawURLEncoding.AppendEncode(encoded[:0], hash))
	return keyOf(text, plainText(kind))
}

// appendPart appends a part of a key behind its length.
func appendPart[P string | []byte](text []byte, part P) []byte {
	text = append(strconv.AppendInt(text, int64(len(part)), 10), '.')
	return append(text, part...)
}

// keyOf is the key of a text, as it is or its hash.
func keyOf(text []byte, plain bool) Key {
	if !plain || len(text) > maxKeyText {
		sum := sha256.Sum256(text)
		text = base64.RawURLEncoding.AppendEncode([]byte{'h'}, sum[:24])
	}
	k := Key{text: string(text)}
	k.hash = hash64(k.text)
	return k
}

// ParseKey returns the key that has the text, as [Key.String] returns it and logs and stores show it. A text
// that no call of NewKey gives is an error.
func ParseKey(text string) (Key, error) {
	if hashed, ok := strings.CutPrefix(text, "h"); ok {
		if sum, err := base64.RawURLEncoding.Strict().DecodeString(hashed); err == nil && len(sum) == 24 && len(hashed) == 32 {
			return Key{text: text, hash: hash64(text)}, nil
		}
	} else if 0 < len(text) && len(text) <= maxKeyText {
		if k := NewKey(partsOf(text)...); k.text == text {
			return k, nil
		}
	}
	text = text[:min(len(text), 2*maxKeyText)]
	return Key{}, fmt.Errorf("seawall: key %q: want each part after its length and a dot, such as 4.user2.42, or h and 32 letters, digits, '-' or '_'", text)
}

// partsOf returns the parts that a plain text has, as far as it has any.
func partsOf(text string) (parts []string) {
	for text != "" {
		length, rest, _ := strings.Cut(text, ".")
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > len(rest) {
			break
		}
		parts, text = append(parts, rest[:n]), rest[n:]
	}
	return parts
}

// String returns the key's text, unique to the key.
func (k Key) String() string { return k.text }

// Hash returns 64 well-mixed bits, the same in every process.
func (k Key) Hash() uint64 { return k.hash }

// IsZero tells whether k is the zero Key.
func (k Key) IsZero() bool { return k.text == "" }

func plainText(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_', c == '.', c == '@', c == ':', c == '/', c == '=':
		default:
			return false
		}
	}
	return true
}

// hash64 is FNV-1a with the finaliser of MurmurHash3, whose low and high bits are both usable.
func hash64(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// FleetKey is the key of what all instances share; a store keeps its view of the fleet beside it.
func FleetKey() Key { return Key{text: fleetText, hash: hash64(fleetText)} }

// fleetText is no text that NewKey gives: those begin with a digit or an 'h'.
const fleetText = "fleet"
