package flags_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/stretchr/testify/require"
)

// open follows a file, by its events alone.
func open(t *testing.T, path string, log slog.Handler) *flags.Flags {
	t.Helper()
	f, err := flags.OpenFile(t.Context(), path, flags.Config{Interval: time.Hour, Timeout: 2 * soon, Logger: slog.New(log)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// link makes name a symbolic link to target, in place of another one if there is one.
func link(t *testing.T, target, name string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, name+".new"))
	require.NoError(t, os.Rename(name+".new", name))
}

func TestAFileIsFollowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string
		lay  func(t *testing.T, dir string)
		turn func(t *testing.T, dir, mode string)
	}{
		"written in place": {
			"flags.json",
			func(t *testing.T, dir string) { write(t, dir+"/flags.json", modeFile("on")) },
			func(t *testing.T, dir, mode string) { write(t, dir+"/flags.json", modeFile(mode)) },
		},
		"renamed over": {
			"flags.json",
			func(t *testing.T, dir string) { write(t, dir+"/flags.json", modeFile("on")) },
			func(t *testing.T, dir, mode string) {
				write(t, dir+"/.flags.swp", modeFile(mode))
				require.NoError(t, os.Rename(dir+"/.flags.swp", dir+"/flags.json"))
			},
		},
		"removed and made again": {
			"flags.json",
			func(t *testing.T, dir string) { write(t, dir+"/flags.json", modeFile("on")) },
			func(t *testing.T, dir, mode string) {
				require.NoError(t, os.Remove(dir+"/flags.json"))
				write(t, dir+"/flags.json", modeFile(mode))
			},
		},
		"removed and made again with its directory": {
			"sub/flags.json",
			func(t *testing.T, dir string) { write(t, dir+"/sub/flags.json", modeFile("on")) },
			func(t *testing.T, dir, mode string) {
				require.NoError(t, os.RemoveAll(dir+"/sub"))
				write(t, dir+"/sub/flags.json", modeFile(mode))
			},
		},
		"a ConfigMap": { // flags.json → ..data/flags.json, ..data → ..<version>
			"flags.json",
			func(t *testing.T, dir string) {
				write(t, dir+"/..on/flags.json", modeFile("on"))
				link(t, "..on", dir+"/..data")
				link(t, "..data/flags.json", dir+"/flags.json")
			},
			func(t *testing.T, dir, mode string) {
				write(t, dir+"/.."+mode+"/flags.json", modeFile(mode))
				old, err := os.Readlink(dir + "/..data")
				require.NoError(t, err)
				link(t, ".."+mode, dir+"/..data")
				require.NoError(t, os.RemoveAll(filepath.Join(dir, old)))
			},
		},
		"a parent is another one": {
			"current/flags.json",
			func(t *testing.T, dir string) {
				write(t, dir+"/on/flags.json", modeFile("on"))
				link(t, "on", dir+"/current")
			},
			func(t *testing.T, dir, mode string) {
				write(t, dir+"/"+mode+"/flags.json", modeFile(mode))
				link(t, mode, dir+"/current")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.lay(t, dir)
			f := open(t, filepath.Join(dir, c.path), slog.DiscardHandler)
			g := f.Gate("ratelimit", "")
			require.Equal(t, seawall.Enforce, g(nil))
			for _, turn := range []struct {
				to   string
				want seawall.Mode
			}{{"dark", seawall.LogOnly}, {"on", seawall.Enforce}} { // and it is still followed afterwards
				c.turn(t, dir, turn.to)
				require.Eventually(t, func() bool { return g(nil) == turn.want }, 2*time.Second, poll)
			}
			require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll)
		})
	}
}

// Ten changes, each made when the one before was seen: without notifications they take ten seconds.
func TestNotificationsMakeItQuick(t *testing.T) {
	t.Parallel()
	for name, noisy := range map[string]bool{"quiet directory": false, "busy directory": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir+"/..on/flags.json", modeFile("on"))
			write(t, dir+"/..dark/flags.json", modeFile("dark"))
			link(t, "..on", dir+"/..data")
			link(t, "..data/flags.json", dir+"/flags.json")
			g := open(t, dir+"/flags.json", slog.DiscardHandler).Gate("ratelimit", "")
			begun := time.Now()
			for i := range 10 {
				to, want := "..dark", seawall.LogOnly
				if i%2 == 1 {
					to, want = "..on", seawall.Enforce
				}
				link(t, to, dir+"/..data")
				require.Eventually(t, func() bool {
					if noisy {
						write(t, dir+"/noise.log", time.Now().String())
					}
					return g(nil) == want
				}, soon, poll)
			}
			require.Less(t, time.Since(begun), 5*time.Second)
		})
	}
}

func TestAnInvalidFileKeepsTheLastGoodFlags(t *testing.T) {
	t.Parallel()
	log := &logbook{}
	dir := t.TempDir()
	path := filepath.Join(dir, "flags.json")
	write(t, path, modeFile("dark"))
	f := open(t, path, log)
	g := f.Gate("ratelimit", "")
	wait := func(errors int64) {
		t.Helper()
		require.Eventually(t, func() bool { return f.Errors() == errors }, soon, poll)
		require.ErrorContains(t, f.Err(), path)
		require.Equal(t, seawall.LogOnly, g(nil))
		write(t, dir+"/other", "has it read again")
		require.Never(t, func() bool { return f.Errors() != errors }, 200*time.Millisecond, poll,
			"reading the same again is not another error")
	}

	full := modeFile("on")
	replace(t, path, "{\n\"flags\": 1}")
	wait(1)
	require.ErrorContains(t, f.Err(), path+":2: flags is a number")
	replace(t, path, "{\n\"flags\": 2}")
	wait(2) // the same message, but another content
	require.Equal(t, 2, log.count(path+":2: flags is a number"))

	require.NoError(t, os.Remove(path))
	wait(3)
	require.Equal(t, 1, log.count("no such file"))
	require.Equal(t, 3, log.count(""))

	replace(t, path, full[:len(full)/2]) // half written, and then the whole
	wait(4)
	replace(t, path, full)
	becomes(t, seawall.Enforce, g)
	require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll)
	require.EqualValues(t, 4, f.Errors(), "errors are counted for good")
}

func TestNonsenseOnReloadKeepsTheLastGoodMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, modeFile("dark"))
	f := open(t, path, slog.DiscardHandler)
	g := f.Gate("ratelimit", "")
	write(t, path, modeFile("bad"))
	require.Eventually(t, func() bool { return f.Err() != nil }, soon, poll)
	require.ErrorContains(t, f.Err(), `flag "seawall-ratelimit-mode": "enforcee" is not a mode`)
	require.Equal(t, seawall.LogOnly, g(nil))
	write(t, path, modeFile("on"))
	becomes(t, seawall.Enforce, g)
}

func TestAFileWrittenByPieces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, modeFile("on"))
	g := open(t, path, slog.DiscardHandler).Gate("ratelimit", "")
	file, err := os.OpenFile(path, os.O_TRUNC|os.O_WRONLY, 0)
	require.NoError(t, err)
	for _, b := range []byte(modeFile("dark")) {
		_, err := file.Write([]byte{b})
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, file.Close())
	becomes(t, seawall.LogOnly, g)
}

func TestShutdownIsIdempotentAndFreezesTheFlags(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, modeFile("dark"))
	p, err := flags.NewFileProvider(path, quiet())
	require.NoError(t, err)
	require.Equal(t, "SeawallFileProvider", p.Metadata().Name)
	p.Shutdown()
	p.Shutdown()
	write(t, path, modeFile("on"))
	d := p.StringEvaluation(t.Context(), "seawall-ratelimit-mode", "", nil)
	require.Equal(t, "log-only", d.Value)
}

func TestAReplacedFileProviderIsShutDown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, modeFile("dark"))
	p, err := flags.NewFileProvider(path, quiet())
	require.NoError(t, err)
	api := newAPI(t, p)
	require.NoError(t, api.SetProviderAndWait(t.Context(), openfeature.NoopProvider{}))
	// goleak finds its goroutine otherwise.
}

func TestOpenFileRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flags.json")
	refuse := func(want string, cfg flags.Config) {
		t.Helper()
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
		f, err := flags.OpenFile(t.Context(), path, cfg)
		require.Nil(t, f)
		require.ErrorContains(t, err, want)
	}
	refuse(path, flags.Config{})
	write(t, path, modeFile("bad"))
	refuse(`flags: `+path+`:2: flag "seawall-ratelimit-mode": "enforcee" is not a mode; want "enforce" or "log-only"`, flags.Config{})
	write(t, path, modeFile("dangling"))
	refuse(path+":5: defaultVariant", flags.Config{})
	write(t, path, modeFile("on"))
	refuse("Config.Interval", flags.Config{Interval: -1})
	refuse("Config.Client", flags.Config{Client: newAPI(t, nil).NewClient()})
}

func TestTwoFilesDoNotGetInEachOthersWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/a.json", modeFile("on"))
	write(t, dir+"/b.json", modeFile("dark"))
	a, b := open(t, dir+"/a.json", slog.DiscardHandler), open(t, dir+"/b.json", slog.DiscardHandler)
	require.Equal(t, seawall.Enforce, a.Gate("ratelimit", "")(nil))
	require.Equal(t, seawall.LogOnly, b.Gate("ratelimit", "")(nil))
	require.NoError(t, b.Close())
	write(t, dir+"/a.json", modeFile("dark"))
	becomes(t, seawall.LogOnly, a.Gate("ratelimit", ""))
}

func TestAFileThatIsNone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flags.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"flags":{}}`), 0o600))
	p, err := flags.NewFileProvider(path, slog.New(slog.NewTextHandler(io.Discard, nil)))
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600)) // to read it would block
	require.Eventually(t, func() bool { return p.Err() != nil }, soon, 5*time.Millisecond)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, make([]byte, 2<<20), 0o600))
	require.Eventually(t, func() bool { return strings.Contains(p.Err().Error(), "larger") }, soon, 5*time.Millisecond)
	require.NoError(t, os.WriteFile(path, []byte(`{"flags":{}}`), 0o600))
	require.Eventually(t, func() bool { return p.Err() == nil }, soon, 5*time.Millisecond)
	p.Shutdown()
}
