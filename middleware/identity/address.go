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

// translated is NAT64's well-known prefix, RFC 6052: a translator in front of a server shows it clients of IPv4 so, and all
// of them would be in one /64.
var translated = netip.MustParsePrefix("64:ff9b::/96") //nolint:gochecknoglobals // a constant

// ipv4 is the IPv4 address that is inside a translated one.
func ipv4(addr netip.Addr) netip.Addr {
	if !translated.Contains(addr) {
		return addr
	}
	all := addr.As16()
	return netip.AddrFrom4([4]byte(all[12:]))
}

// Address returns what tells clients apart of an address: an IPv4 address as it is, also if it is mapped or translated
// into IPv6, and of an IPv6 address its prefix, such as "2001:db8:1:2::/64". Ports and zones are left out. What is no address is
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
	addr = ipv4(addr.Unmap().WithZone(""))
	if addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr, h.ipv6Prefix).Masked().String()
}
