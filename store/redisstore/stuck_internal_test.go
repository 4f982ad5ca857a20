package redisstore

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWhatIsSetAsideIsBounded as the queue is: beyond that the oldest are left to their TTL, and nobody waits for them.
func TestWhatIsSetAsideIsBounded(t *testing.T) {
	var r releases
	r.init()
	first := release{done: make(chan struct{})}
	r.setAside([]release{first})
	for range maxQueue / maxBatch {
		r.setAside(make([]release, maxBatch))
	}
	select {
	case <-first.done:
		t.Fatal("it has room")
	default:
	}
	r.setAside(make([]release, maxBatch))
	<-first.done
	assert.Len(t, r.stuck, maxQueue)
	r.retry(maxRetried)
	assert.Len(t, r.queue, maxRetried)
	assert.Len(t, r.stuck, maxQueue-maxRetried)
}
