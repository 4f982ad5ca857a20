package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

func TestWhoIsWho(t *testing.T) {
	entry := func(address, user, field string) *accesslog.Entry {
		return &accesslog.Entry{Address: []byte(address), User: []byte(user), Field: []byte(field)}
	}
	for by, want := range map[string][]caller{
		"address": {
			{name: "192.0.2.1", key: seawall.NewKey("address", "192.0.2.1")},
			{name: "192.0.2.200", key: seawall.NewKey("address", "192.0.2.200")},
			{name: "2001:db8::1", key: seawall.NewKey("address", "2001:db8::1")},
			{name: "2001:db8::2", key: seawall.NewKey("address", "2001:db8::2")},
			{name: "a.test", key: seawall.NewKey("address", "a.test")},
		},
		"address/64": {
			{name: "192.0.2.1", key: seawall.NewKey("address", "192.0.2.1")},
			{name: "192.0.2.200", key: seawall.NewKey("address", "192.0.2.200")},
			{name: "2001:db8::/64", key: seawall.NewKey("address", "2001:db8::/64")},
			{name: "a.test", key: seawall.NewKey("address", "a.test")},
		},
		"address/24/32": {
			{name: "192.0.2.0/24", key: seawall.NewKey("address", "192.0.2.0/24")},
			{name: "2001:db8::/32", key: seawall.NewKey("address", "2001:db8::/32")},
			{name: "a.test", key: seawall.NewKey("address", "a.test")},
		},
		"user": {
			{name: "user 49915e0d7d4b", key: seawall.NewKey("user", "ann"), signedIn: true},
			{name: "192.0.2.200", key: seawall.NewKey("address", "192.0.2.200")},
			{name: "2001:db8::1", key: seawall.NewKey("address", "2001:db8::1")},
			{name: "2001:db8::2", key: seawall.NewKey("address", "2001:db8::2")},
			{name: "a.test", key: seawall.NewKey("address", "a.test")},
		},
		"field:key": {
			{name: "key 2bb80d537b1d", key: seawall.NewKey("key", "secret"), signedIn: true},
			{name: "192.0.2.200", key: seawall.NewKey("address", "192.0.2.200")},
			{name: "2001:db8::1", key: seawall.NewKey("address", "2001:db8::1")},
			{name: "2001:db8::2", key: seawall.NewKey("address", "2001:db8::2")},
			{name: "a.test", key: seawall.NewKey("address", "a.test")},
		},
	} {
		id, err := parseIdentity(by)
		require.NoError(t, err)
		c := newCallers(id)
		for range 2 {
			c.of(entry("192.0.2.1", "ann", "secret"))
			c.of(entry("192.0.2.200", "", ""))
			c.of(entry("2001:db8::1", "", ""))
			c.of(entry("2001:0DB8::2", "", ""))
			c.of(entry("2001:db8::2", "", ""))
			c.of(entry("::ffff:192.0.2.200", "", ""))
			c.of(entry("a.test", "", ""))
		}
		assert.Equal(t, want, c.all, by)
	}
}

// TestAUserWhoIsCalledLikeAnAddressIsAnotherOne in every map.
func TestAUserWhoIsCalledLikeAnAddressIsAnotherOne(t *testing.T) {
	c := newCallers(identity{user: true})
	address := c.of(&accesslog.Entry{Address: []byte("192.0.2.1")})
	user := c.of(&accesslog.Entry{Address: []byte("192.0.2.7"), User: []byte("192.0.2.1")})
	assert.NotEqual(t, address, user)
}

func TestBadIdentitiesAreNamed(t *testing.T) {
	for _, text := range []string{"", "addresses", "address/", "address/0", "address/129", "address/33/64", "address/24/64/1", "address/x", "field:", "user:1"} {
		_, err := parseIdentity(text)
		assert.ErrorContains(t, err, "flag -caller: ", text)
	}
}

// TestAKnownCallerCostsNoMemory however often it comes.
func TestAKnownCallerCostsNoMemory(t *testing.T) {
	c := newCallers(identity{v4: 32, v6: 128})
	e := &accesslog.Entry{Address: []byte("192.0.2.1")}
	assert.Zero(t, testing.AllocsPerRun(1000, func() { c.of(e) }))
}
