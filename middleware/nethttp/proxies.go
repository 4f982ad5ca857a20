package nethttp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// TrustProxies returns a ClientAddress for servers behind proxies of the given networks: of the addresses that they have
// appended to X-Forwarded-For, the last that is not a proxy's, and the socket's peer if that is no proxy. What a client
// has written before is not believed, and neither is what is no address. The peer of a Unix socket is no proxy. No network
// at all, or one that is none, is an error.
func TrustProxies(networks ...netip.Prefix) (func(*http.Request) string, error) {
	if len(networks) == 0 {
		return nil, errors.New("nethttp: TrustProxies has no networks; want those of the proxies, such as 10.0.0.0/8")
	}
	proxies := make([]netip.Prefix, len(networks))
	for i, n := range networks {
		if !n.IsValid() {
			return nil, fmt.Errorf("nethttp: TrustProxies: network %d is %v; want one such as 10.0.0.0/8", i, n)
		}
		if bits := n.Bits() - 96; n.Addr().Is4In6() && bits >= 0 {
			n = netip.PrefixFrom(n.Addr().Unmap(), bits)
		}
		proxies[i] = n
	}
	trusted := func(a netip.Addr) bool {
		return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return func(r *http.Request) string {
		peer, err := parse(r.RemoteAddr)
		if err != nil || !trusted(peer) {
			return r.RemoteAddr
		}
		client := peer
		forwarded := r.Header["X-Forwarded-For"]
		for _, line := range slices.Backward(forwarded) {
			for line != "" {
				last := line
				if i := strings.LastIndexByte(line, ','); i >= 0 {
					line, last = line[:i], line[i+1:]
				} else {
					line = ""
				}
				if client, err = parse(strings.TrimSpace(last)); err != nil {
					return peer.String()
				}
				if !trusted(client) {
					return client.String()
				}
				peer = client
			}
		}
		return client.String()
	}, nil
}

// parse reads an address with or without a port, as IPv4 if it is mapped.
func parse(text string) (netip.Addr, error) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a.Unmap().WithZone(""), err
}
