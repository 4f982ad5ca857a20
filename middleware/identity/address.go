package identity

import (
	"net"
	"net/netip"
	"strings"

	"github.com/seawall-go/seawall"
)

// ByAddress identifies callers by the client's address.
func (h *Hasher) ByAddress() Identify {
	return func(c Call, r *seawall.Request) error {
		r.Key = h.addressKey(c)
		return nil
	}
}

func (h *Hasher) addressKey(c Call) seawall.Key { return h.Key("addr", h.Address(c.Address())) }

// Address returns what tells clients apart of an address: an IPv4 address as it is, also if it is mapped into IPv6, and
// of an IPv6 address its prefix, such as "2001:db8:1:2::/64". Ports and zones are left out. What is no address is
// returned as it is.
func (h *Hasher) Address(text string) string {
	host := text
	if h, _, err := net.SplitHostPort(text); err == nil {
		host = h
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return text
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr, h.ipv6Prefix).Masked().String()
}
