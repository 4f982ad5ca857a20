package redisstore

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seawall-go/seawall"
)

// Compact gives the keys of callers short names, for services with so many callers that memory counts more
// than reading the names. A name is a tag of 13 bytes, a keyed hash over namespace and caller, and the
// limit's letter:
//
//	{q2Zr0Wv_x4A}a      instead of  payments:{3.key22.vK0…}:ratelimit:api
//
// Redis keeps these 14 bytes in one allocation of 16: a bucket takes 117 bytes, all overheads included, instead
// of the 165 that it takes with a name of 55 bytes, like the one above. What the fleet shares keeps its readable
// names.
//
// All instances must have the same Compact: each finds only the state that has the names it computes. To set
// it, to remove it, or to change the secret is to begin with empty state, and for the limit concerned so is to
// give it another letter. The old state expires by itself; until then, a limit that gets the letter of another
// finds that one's.
//
// The hash has 66 bits. Two of n callers that have state at the same time share it, and with it their limits,
// with a probability of n²/2^67: 3·10^-10 for 200,000 callers, 10^-6 for 12 million. All namespaces on one
// Redis count together. Without the secret nobody can look for such a pair, nor tell whose a key is.
type Compact struct {
	// Secret keys the hash: at least 16 random bytes. It is not kept. Required.
	Secret []byte
	// Letters gives limits their letter, a-z or A-Z, each another one, by their names as [seawall.Limit.Name]
	// returns them: "ratelimit:api". Behind the tag a limit without a letter has ":ratelimit:api", which is
	// only longer. New copies the map.
	Letters map[string]byte
}

const (
	minSecret = 16
	// hashed is how many bytes of the hash are encoded, and hashText how many characters are used of the 12
	// that they give: the tag and a letter are then as long as fits into 16 bytes beside Redis' own two.
	hashed, hashText = 9, 11
	tagLen           = 1 + hashText + 1
)

// compactNames computes compact names. It is safe for concurrent use.
type compactNames struct {
	letters map[string]byte
	hashers sync.Pool // of *hasher
}

// hasher is what computing a tag needs.
type hasher struct {
	mac  hash.Hash
	text []byte
}

func newCompactNames(cfg *Compact, namespace string) (*compactNames, error) {
	if len(cfg.Secret) < minSecret {
		return nil, fmt.Errorf("redisstore: Config.Compact.Secret has %d bytes; want at least %d", len(cfg.Secret), minSecret)
	}
	if err := checkLetters(cfg.Letters); err != nil {
		return nil, err
	}
	// The namespace is part of the key, so that a caller's text is the whole message and fits into one block.
	// The secret may serve others: hence the label. HMAC would take it for the same one with zeros behind:
	// hence its hash.
	secret := sha256.Sum256(cfg.Secret)
	derive := hmac.New(sha256.New, secret[:])
	derive.Write([]byte("seawall/redisstore/names/v1\x00" + namespace))
	key := derive.Sum(nil)
	return &compactNames{
		letters: maps.Clone(cfg.Letters),
		hashers: sync.Pool{New: func() any { return &hasher{mac: hmac.New(sha256.New, key)} }},
	}, nil
}

func checkLetters(letters map[string]byte) error {
	owners := map[byte]string{}
	for _, name := range slices.Sorted(maps.Keys(letters)) { // sorted: of several errors always the same one
		layer, policy, _ := strings.Cut(name, ":")
		if _, err := seawall.NewLimit(layer, policy, seawall.FailLocal); err != nil {
			return fmt.Errorf("redisstore: Config.Compact.Letters names limit %q; want layer:policy: %w", name, err)
		}
		c := letters[name]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return fmt.Errorf("redisstore: Config.Compact.Letters[%q] is %q; want a letter, a-z or A-Z", name, c)
		}
		if other, taken := owners[c]; taken {
			return fmt.Errorf("redisstore: Config.Compact.Letters[%q] is %q, as is that of %q; want a letter of its own", name, c, other)
		}
		owners[c] = name
	}
	return nil
}

// nameOf is the Redis key of a limit's state for a caller.
func (n *compactNames) nameOf(k seawall.Key, l *seawall.Limit) string {
	var buf [64]byte // enough for the longest limit, of 15 + 1 + 32 bytes
	name := n.appendTag(buf[:0], k)
	if c, ok := n.letters[l.Name()]; ok {
		return string(append(name, c))
	}
	return string(append(append(name, ':'), l.Name()...))
}

// appendTag appends the hash of a caller, in braces: what Redis Cluster places keys by.
func (n *compactNames) appendTag(dst []byte, k seawall.Key) []byte {
	h := n.hashers.Get().(*hasher)
	h.mac.Reset()
	h.text = append(h.text[:0], k.String()...)
	h.mac.Write(h.text)
	h.text = h.mac.Sum(h.text[:0])
	dst = base64.RawURLEncoding.AppendEncode(append(dst, '{'), h.text[:hashed])
	n.hashers.Put(h)
	return append(dst[:tagLen-1], '}')
}
