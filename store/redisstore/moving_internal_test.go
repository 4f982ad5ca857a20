package redisstore

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
)

// reply is an error that Redis replied.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// TestWhatIsOnItsWay is asked about again; what is nobody's, or at a server that cannot be reached, is not: who waits for that keeps
// the lane from its own master's callers.
func TestWhatIsOnItsWay(t *testing.T) {
	for text, again := range map[string]bool{
		"TRYAGAIN Multiple keys request during rehashing of slot": true,
		"MOVED 1 127.0.0.1:1":                 true,
		"CLUSTERDOWN Hash slot not served":    false,
		"CLUSTERDOWN The cluster is down":     false,
		"OOM command not allowed when used m": false,
	} {
		assert.Equal(t, again, moving(classify(reply(text))), text)
	}
	assert.True(t, nobodys(reply("CLUSTERDOWN Hash slot not served")))
	assert.False(t, nobodys(reply("CLUSTERDOWN The cluster is down")))
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}, Err: errors.New("refused")}
	assert.False(t, moving(&callError{reason: "moved", err: dial, unsent: true}))
	assert.False(t, moving(nil))
}
