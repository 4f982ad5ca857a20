package accesslog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

// TestAFileThatBeginsWithAHole has all its requests: it was truncated while it was written, and zeros stand for what it had.
func TestAFileThatBeginsWithAHole(t *testing.T) {
	t.Parallel()
	for _, zeros := range []int{1, 4000, 100_000, 3_000_000} {
		for _, format := range []string{"auto", "combined"} {
			log := open(t, []byte(strings.Repeat("\x00", zeros)+good+good), accesslog.Options{Format: format})
			assert.Len(t, all(log), 2, "%d zeros, %s", zeros, format)
			require.NoError(t, log.Err())
		}
	}
}

// TestALongFirstLineIsOneBadLine and the rest is a log all the same.
func TestALongFirstLineIsOneBadLine(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"auto", "combined"} {
		log := open(t, []byte(strings.Repeat("x", 3_000_000)+"\n"+good), accesslog.Options{Format: format})
		assert.Len(t, all(log), 1)
		require.NoError(t, log.Err())
		n, first := log.Bad()
		assert.EqualValues(t, 1, n)
		assert.EqualValues(t, 1, first[0].Number)
	}
}

// TestALineOfZerosThatIsTooLongIsCounted although nothing of it can be shown.
func TestALineOfZerosThatIsTooLongIsCounted(t *testing.T) {
	t.Parallel()
	log := open(t, []byte(good+strings.Repeat("\x00", 3_000_000)+good+good), accesslog.Options{})
	assert.Len(t, all(log), 2)
	n, _ := log.Bad()
	assert.EqualValues(t, 1, n)
}

// TestAFileThatIsTruncatedWhileItIsReadIsNotRead to its end, and says so.
func TestAFileThatIsTruncatedWhileItIsReadIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(name, []byte(strings.Repeat(good, 100_000)), 0o600))
	log, err := accesslog.Open(name, nil, accesslog.Options{})
	require.NoError(t, err)
	defer log.Close()
	require.NoError(t, os.Truncate(name, 0))
	assert.NotEmpty(t, all(log))
	assert.ErrorContains(t, log.Err(), "became shorter while it was read")
}

// TestAPrivateLogShowsNoLine neither as a bad one nor in an error.
func TestAPrivateLogShowsNoLine(t *testing.T) {
	t.Parallel()
	secret := `{"key":"s3cret","time":"2026-11-27T18:00:00Z","remote_a` + "\n"
	log := open(t, []byte(secret+good), accesslog.Options{Private: true})
	assert.Len(t, all(log), 1)
	_, first := log.Bad()
	require.Len(t, first, 1)
	assert.NotContains(t, first[0].Text, "s3cret")
	log = open(t, []byte(secret), accesslog.Options{Private: true})
	assert.Empty(t, all(log))
	require.Error(t, log.Err())
	assert.NotContains(t, log.Err().Error(), "s3cret")
}

// TestReadingEndsWhenItIsToldTo also where there is nothing but bad lines, or zeros.
func TestReadingEndsWhenItIsToldTo(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"bad\n", "\n", "\x00", "x"} {
		done := make(chan struct{})
		from := &endless{text: text, left: 20, done: done}
		log, err := accesslog.Open("-", from, accesslog.Options{Format: "combined", Done: done})
		require.NoError(t, err)
		assert.Empty(t, all(log))
		assert.ErrorIs(t, log.Err(), accesslog.ErrDone, "%q", text)
	}
}

// endless is a text that has no end; done is closed when some of it was read.
type endless struct {
	text string
	left int
	done chan struct{}
}

func (e *endless) Read(p []byte) (n int, err error) {
	if e.left--; e.left == 0 {
		close(e.done)
	}
	for n < len(p) {
		n += copy(p[n:], e.text)
	}
	return n, nil
}
