package abuse

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	floodConns = 32
	pipelined  = 32
)

// flood sends n requests as fast as they are answered, and returns how many answers of which status there were: on many
// connections, each with many requests under way. request appends the i-th.
func flood(t *testing.T, addr string, n int, request func(b []byte, i int) []byte) map[int]int {
	t.Helper()
	var mu sync.Mutex
	codes := map[int]int{}
	var all sync.WaitGroup
	for c := range floodConns {
		w := dial(t, addr)
		all.Go(func() {
			defer w.Close()
			var b []byte
			own := map[int]int{}
			for i := c; i < n; {
				b = b[:0]
				sent := 0
				for ; sent < pipelined && i < n; i += floodConns {
					b = request(b, i)
					sent++
				}
				if _, err := w.Write(b); !assert.NoError(t, err) {
					return
				}
				for range sent {
					code, err := w.skip()
					if !assert.NoError(t, err) {
						return
					}
					own[code]++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for code, n := range own {
				codes[code] += n
			}
		})
	}
	all.Wait()
	return codes
}

// get appends a GET with the headers, each with its CR LF.
func get(b []byte, path, headers string) []byte {
	return fmt.Appendf(b, "GET %s HTTP/1.1\r\nHost: payments\r\n%s\r\n", path, headers)
}
