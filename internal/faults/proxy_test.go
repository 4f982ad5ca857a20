package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// proxy stands between clients and Redis, and spoils what passes.
type proxy struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

func init() { zerolog.SetGlobalLevel(zerolog.Disabled) }

func newProxy(t *testing.T, server *redistest.Server) *proxy {
	t.Helper()
	return proxyTo(t, server.Addr())
}

func proxyTo(t *testing.T, addr string) *proxy {
	t.Helper()
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(api, "redis", "127.0.0.1:0", addr)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		p.Toxics.ResetToxics(context.Background())
		p.Stop()
	})
	return &proxy{t, p}
}

// setup is that of a rig behind the proxy.
func (p *proxy) setup() setup { return setup{url: "redis://" + p.proxy.Listen, proxied: true} }

// add spoils what Redis answers in the given way; attributes are JSON.
func (p *proxy) add(toxic, attributes string) { p.spoil("downstream", toxic, attributes) }

func (p *proxy) spoil(direction, toxic, attributes string) {
	_, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"name": %q, "type": %q, "stream": %q, "attributes": %s}`, toxic, toxic, direction, attributes)))
	assert.NoError(p.t, err)
}

// clear lets everything pass.
func (p *proxy) clear() { p.proxy.Toxics.ResetToxics(context.Background()) }

// cut closes all connections, and refuses further ones until it is mended.
func (p *proxy) cut() { p.proxy.Stop() }

func (p *proxy) mend() { assert.NoError(p.t, p.proxy.Start()) }
