package policyfile_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/ratelimit/policyfile"
)

const (
	soon = 10 * time.Second     // how long tests wait for what must happen
	poll = 2 * time.Millisecond // how often tests look
)

// burst is a file whose policy has the burst, by which tests tell files apart.
func burst(n string) string { return head + "  - {name: api, bucket: {rate: 1/s, burst: " + n + "}}\n" }

// watched is a file in use.
type watched struct {
	*policyfile.Watcher
	t       *testing.T
	log     *logbook
	limiter *ratelimit.Limiter
}

func watch(t *testing.T, path string) *watched {
	t.Helper()
	f, err := policyfile.Load(path)
	require.NoError(t, err)
	w := &watched{t: t, log: &logbook{}}
	w.limiter, err = ratelimit.New(ratelimit.Config{Policies: f.Policies()})
	require.NoError(t, err)
	w.Watcher, err = policyfile.Watch(path, func(f *policyfile.File) error { return w.limiter.Reload(f.Policies()) }, w.log.logger())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.Close()) })
	return w
}

// burst is that of the policies in use.
func (w *watched) burst() int64 {
	return w.limiter.Plan(nil, request("42"))[0].Rule.(ratelimit.Rule).Limit()
}

func (w *watched) becomes(want int64) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return w.burst() == want && w.Err() == nil }, soon, poll)
}

func (w *watched) fails(want string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { err := w.Err(); return err != nil && strings.Contains(err.Error(), want) }, soon, poll)
}

// logbook keeps what is logged.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logbook) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

// write writes a file in place: for a moment it is empty.
func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// replace writes a file so that it is never seen by halves.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	require.NoError(t, os.Rename(path+".new", path))
}

// link makes name a symbolic link to target, in place of another one if there is one.
func link(t *testing.T, target, name string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, name+".new"))
	require.NoError(t, os.Rename(name+".new", name))
}

func TestAFileIsFollowed(t *testing.T) {
	t.Parallel()
	const file = "/policies.yaml"
	plain := func(t *testing.T, dir string) { write(t, dir+file, burst("1")) }
	for name, c := range map[string]struct {
		path string
		lay  func(t *testing.T, dir string)
		turn func(t *testing.T, dir, burst string)
	}{
		"written in place": {file, plain, func(t *testing.T, dir, n string) { write(t, dir+file, burst(n)) }},
		"renamed over":     {file, plain, func(t *testing.T, dir, n string) { replace(t, dir+file, burst(n)) }},
		"removed and made again": {file, plain, func(t *testing.T, dir, n string) {
			require.NoError(t, os.Remove(dir+file))
			write(t, dir+file, burst(n))
		}},
		"a ConfigMap": { // policies.yaml → ..data/policies.yaml, ..data → ..<version>
			file,
			func(t *testing.T, dir string) {
				write(t, dir+"/..1"+file, burst("1"))
				link(t, "..1", dir+"/..data")
				link(t, "..data"+file, dir+file)
			},
			func(t *testing.T, dir, n string) {
				write(t, dir+"/.."+n+file, burst(n))
				old, err := os.Readlink(dir + "/..data")
				require.NoError(t, err)
				link(t, ".."+n, dir+"/..data")
				require.NoError(t, os.RemoveAll(filepath.Join(dir, old)))
			},
		},
		"a parent is another one": {
			"/current" + file,
			func(t *testing.T, dir string) {
				write(t, dir+"/1"+file, burst("1"))
				link(t, "1", dir+"/current")
			},
			func(t *testing.T, dir, n string) {
				write(t, dir+"/"+n+file, burst(n))
				link(t, n, dir+"/current")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.lay(t, dir)
			w := watch(t, dir+c.path)
			require.EqualValues(t, 1, w.burst())
			c.turn(t, dir, "2")
			w.becomes(2)
			c.turn(t, dir, "3") // and it is still followed afterwards
			w.becomes(3)
		})
	}
}

func TestTheLastGoodPoliciesStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := dir + "/policies.yaml"
	write(t, path, burst("1"))
	w := watch(t, path)
	problem := func(logged int, text string) {
		t.Helper()
		w.fails(text)
		write(t, dir+"/other", "has it read again")
		time.Sleep(150 * time.Millisecond)
		require.Equal(t, logged, w.log.count("level=WARN"), "once for each content")
		require.EqualValues(t, 1, w.burst())
	}
	replace(t, path, burst("0"))
	problem(1, path+`:3: policy "api": bucket.burst is 0; want 1 to 1000000000`)
	replace(t, path, burst("-1"))
	problem(2, "bucket.burst is -1")
	require.NoError(t, os.Remove(path))
	problem(3, "no such file")
	replace(t, path, strings.Repeat("#", 1<<20+1))
	problem(4, "is larger than 1048576 bytes")
	require.NoError(t, syscall.Mkfifo(path+".new", 0o600)) // to read it would block
	require.NoError(t, os.Rename(path+".new", path))
	problem(5, "is not a regular file")

	replace(t, path, burst("5"))
	w.becomes(5)
	require.Equal(t, 1, w.log.count("level=INFO"))
}

func TestWhatApplyRefusesIsNoPolicy(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/policies.yaml"
	write(t, path, burst("1"))
	var calls atomic.Int64
	w, err := policyfile.Watch(path, func(f *policyfile.File) error {
		calls.Add(1)
		switch f.Policies()[0].Quota {
		case ratelimit.TokenBucket(ratelimit.PerSecond(1), 2):
			return errors.New("the limiter is full")
		case ratelimit.TokenBucket(ratelimit.PerSecond(1), 3):
			panic("the limiter is broken")
		}
		return nil
	}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	fails := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool { err := w.Err(); return err != nil && err.Error() == path+": "+want }, soon, poll)
	}
	replace(t, path, burst("2"))
	fails("the limiter is full")
	replace(t, path, burst("3"))
	fails("apply panics: the limiter is broken")
	replace(t, path, burst("4"))
	require.Eventually(t, func() bool { return w.Err() == nil }, soon, poll)
	require.EqualValues(t, 4, calls.Load())
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	replace(t, path, burst("5"))
	time.Sleep(100 * time.Millisecond)
	require.EqualValues(t, 4, calls.Load(), "a closed watcher follows no more")
}

func TestWatchBeginsWithAGoodFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/policies.yaml"
	refused := func(want string) {
		t.Helper()
		_, err := policyfile.Watch(path, func(*policyfile.File) error { return errors.New("refused") }, nil)
		require.ErrorContains(t, err, want)
	}
	_, err := policyfile.Load(path)
	require.ErrorContains(t, err, "policyfile: open "+path)
	refused("policyfile: open " + path)
	write(t, path, burst("0"))
	refused(path + ":3: ")
	write(t, path, burst("1"))
	refused(path + ": refused")
}
