package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

// terminal is one that keeps what is written to it.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *terminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *terminal) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestTheBarShowsHowFarItIs(t *testing.T) {
	file := write(t, "log", strings.Repeat(combined(0, "192.0.2.1", "/"), 20_000))
	l, err := accesslog.Open(file, nil, accesslog.Options{})
	require.NoError(t, err)
	defer l.Close()
	screen, s := &terminal{}, &shown{stop: make(chan struct{})}
	s.start(screen, []*log{{Log: l}})
	var e accesslog.Entry
	for range 10_000 {
		require.True(t, l.Next(&e))
	}
	midway := regexp.MustCompile(`replaying +\d\d% .*/s`)
	assert.Eventually(t, func() bool { return midway.MatchString(screen.String()) }, 10*time.Second, time.Millisecond, "how far, and how fast: %q", screen)
	s.end()
}

func TestAPipeGetsNoBar(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	s := show(w, nil)
	assert.Nil(t, s.bar)
	s.end()
}
