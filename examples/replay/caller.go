package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

// identity says whom requests are counted for: an address, whole or by prefix, a user, or what a field says, such as a key.
// Requests without a user or field are their address', as those who have not signed in are.
type identity struct {
	user   bool
	field  string // "" is none
	v4, v6 int    // bits of an address that count
}

// private tells if who asks is nothing to be shown.
func (id identity) private() bool { return id.user || id.field != "" }

// parseIdentity reads the -caller flag.
func parseIdentity(text string) (identity, error) {
	id := identity{v4: 32, v6: 128}
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case text == "user":
		id.user = true
		return id, nil
	case kind == "field" && rest != "":
		id.field = rest
		return id, nil
	}
	parts := strings.Split(text, "/")
	bits := make([]int, len(parts)-1)
	valid := parts[0] == "address" && len(bits) <= 2
	for i, part := range parts[1:] {
		n, err := strconv.Atoi(part)
		bits[i], valid = n, valid && err == nil && n > 0 && n <= 128
	}
	switch {
	case !valid || len(bits) == 2 && bits[0] > 32:
		return id, fmt.Errorf("flag -caller: %q; want address, address/64 (IPv6 by its first 64 bits), address/24/64 (IPv4, too), user, or field:NAME", text)
	case len(bits) == 1:
		id.v6 = bits[0]
	case len(bits) == 2:
		id.v4, id.v6 = bits[0], bits[1]
	}
	return id, nil
}

// caller is one of those who asked.
type caller struct {
	name     string      // that people are shown; of a user or field a hash
	key      seawall.Key // that the rules know
	signedIn bool
	requests int64
}

// callers are all that the logs have shown, by number. Memory grows with them.
type callers struct {
	by    identity
	all   []caller
	named int64 // requests of a user, or with the field
	// Numbers by what the log calls them, and by their keys, which several spellings of an address share.
	addresses, signedIn map[string]int32
	keys                map[seawall.Key]int32
}

func newCallers(by identity) *callers {
	return &callers{by: by, addresses: map[string]int32{}, signedIn: map[string]int32{}, keys: map[seawall.Key]int32{}}
}

// of returns who asked.
func (c *callers) of(e *accesslog.Entry) int32 {
	name, known, of := e.Address, c.addresses, c.by.address
	switch {
	case c.by.user && len(e.User) > 0:
		name, known, of = e.User, c.signedIn, user
		c.named++
	case c.by.field != "" && len(e.Field) > 0:
		name, known, of = e.Field, c.signedIn, holder
		c.named++
	}
	i, ok := known[string(name)]
	if ok {
		return i
	}
	who := of(string(name))
	if i, ok = c.keys[who.key]; !ok {
		i = int32(len(c.all)) // there is no memory for 2^31
		c.all = append(c.all, who)
		c.keys[who.key] = i
	}
	known[string(name)] = i
	return i
}

func user(name string) caller {
	return caller{name: "user " + hash(name), key: seawall.NewKey("user", name), signedIn: true}
}

// holder is who has a key.
func holder(key string) caller {
	return caller{name: "key " + hash(key), key: seawall.NewKey("key", key), signedIn: true}
}

// hash stands for what nobody is shown.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// address is who asks from there, or from the network that stands for it. What is no address, as a host's name, stands for itself.
func (id identity) address(text string) caller {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		bits := id.v6
		if addr.Is4() {
			bits = id.v4
		}
		text = addr.String()
		if prefix, err := addr.Prefix(bits); err == nil && bits < addr.BitLen() {
			text = prefix.String()
		}
	}
	return caller{name: text, key: seawall.NewKey("address", text)}
}
