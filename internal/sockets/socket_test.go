package sockets

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// servers are handlers of WebSockets that echo what they read: one that stays, one that returns at once and leaves the
// connection to others, and one of another library, which can only stay.
func servers(others *sync.WaitGroup) map[string]echo.HandlerFunc {
	echoes := func(conn *gorilla.Conn) {
		defer conn.Close()
		for {
			kind, text, err := conn.ReadMessage()
			if err != nil || conn.WriteMessage(kind, text) != nil || string(text) == "bye" {
				return
			}
		}
	}
	upgrader := gorilla.Upgrader{EnableCompression: true}
	return map[string]echo.HandlerFunc{
		"gorilla, the handler stays": func(c echo.Context) error {
			conn, err := upgrader.Upgrade(c.Response(), c.Request(), nil)
			if err != nil {
				return nil // it has answered
			}
			echoes(conn)
			return nil
		},
		"gorilla, the handler returns": func(c echo.Context) error {
			conn, err := upgrader.Upgrade(c.Response(), c.Request(), nil)
			if err != nil {
				return nil
			}
			others.Go(func() { echoes(conn) })
			return nil
		},
		"coder": func(c echo.Context) error {
			conn, err := coder.Accept(c.Response(), c.Request(), &coder.AcceptOptions{CompressionMode: coder.CompressionContextTakeover})
			if err != nil {
				return nil
			}
			defer func() { _ = conn.CloseNow() }()
			for {
				kind, text, err := conn.Read(context.Background())
				if err != nil || conn.Write(context.Background(), kind, text) != nil || string(text) == "bye" {
					return nil
				}
			}
		},
	}
}

// dial opens a socket, and keeps the connection underneath to cut it.
func (s *site) dial(t *testing.T) (ws *gorilla.Conn, status int, cut func()) {
	t.Helper()
	var raw net.Conn
	d := gorilla.Dialer{
		TLSClientConfig: s.Client().Transport.(*http.Transport).TLSClientConfig.Clone(), EnableCompression: true,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			raw = conn
			return conn, err
		},
	}
	d.TLSClientConfig.NextProtos = []string{"http/1.1"}
	ws, resp, err := d.DialContext(t.Context(), "wss"+strings.TrimPrefix(s.URL, "https")+"/socket", nil)
	require.NotNil(t, resp, "%v", err)
	defer resp.Body.Close()
	if err != nil {
		return nil, resp.StatusCode, nil
	}
	t.Cleanup(func() { _ = ws.Close() })
	return ws, resp.StatusCode, func() {
		_ = raw.(*net.TCPConn).SetLinger(0)
		_ = raw.Close()
	}
}

func says(t *testing.T, ws *gorilla.Conn, text string) {
	t.Helper()
	require.NoError(t, ws.WriteMessage(gorilla.TextMessage, []byte(text)))
	_, got, err := ws.ReadMessage()
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

func TestSocketsHoldTheirSlotAsLongAsTheyAreOpen(t *testing.T) {
	var others sync.WaitGroup
	defer others.Wait()
	for name, handler := range servers(&others) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothStores(t, func(t *testing.T, s *site) {
				s.echo.GET("/socket", handler)
				s.echo.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
				first, status, _ := s.dial(t)
				require.Equal(t, http.StatusSwitchingProtocols, status)
				second, status, cut := s.dial(t)
				require.Equal(t, http.StatusSwitchingProtocols, status)
				for end := time.Now().Add(2 * ttl); time.Now().Before(end); time.Sleep(ttl / 5) { // how long they are open
					says(t, first, strings.Repeat("ping", 1000))
					says(t, second, "ping")
				}
				_, status, _ = s.dial(t)
				assert.Equal(t, http.StatusTooManyRequests, status, "still held, after two TTLs")
				assert.Equal(t, http.StatusOK, s.get(t, "/"), "outside the cap, fleet and workers of others")

				says(t, first, "bye") // the server closes it
				third := s.again(t)
				cut() // the client vanishes
				fourth := s.again(t)
				require.NoError(t, third.WriteControl(gorilla.CloseMessage, nil, time.Now().Add(time.Second)))
				_ = third.Close()
				_ = s.again(t).Close()
				_ = fourth.Close()
				s.free(t)
			})
		})
	}
}

// again opens a socket as soon as there is a slot.
func (s *site) again(t *testing.T) (ws *gorilla.Conn) {
	t.Helper()
	require.Eventually(t, func() bool {
		ws, _, _ = s.dial(t)
		return ws != nil
	}, soon, 10*time.Millisecond)
	return ws
}

func TestAFailedUpgradeHoldsNothing(t *testing.T) {
	var others sync.WaitGroup
	defer others.Wait()
	for name, handler := range servers(&others) {
		t.Run(name, func(t *testing.T) {
			onBothStores(t, func(t *testing.T, s *site) {
				s.echo.GET("/socket", handler)
				for range 2 * streams {
					assert.Contains(t, []int{http.StatusBadRequest, http.StatusUpgradeRequired}, s.get(t, "/socket"))
				}
				s.free(t)
			})
		})
	}
}
