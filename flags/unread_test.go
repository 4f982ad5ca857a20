package flags_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listing is a Source that lists the keys of its flags, and knows where they are.
type listing []string

func (l listing) Errors() int64           { return 0 }
func (l listing) Err() error              { return nil }
func (l listing) Keys() []string          { return l }
func (l listing) Where(key string) string { return "flags.json:7: " }

// silent is a Source that does not.
type silent struct{}

func (silent) Errors() int64 { return 0 }
func (silent) Err() error    { return nil }

func TestWhatIsMisspeltIsNamed(t *testing.T) {
	t.Parallel()
	keys := listing{
		"seawall-ratelimit-login-mode", "seawall-ratelimt-enabled", "seawall-ratelimit-apl-mode", "seawall-ratelimit-apl-mode",
		"seawall-enabled", "seawall-ratelimit-scale", "checkout-button", "seawallpaper", "seawall", "other-seawall-x", "seawall-", "seawall-team",
	}
	f := start(t, flags.Config{Source: keys, Defaults: map[string]seawall.Mode{
		"ratelimit:apl": seawall.LogOnly, "ratelimit:api": seawall.LogOnly, "fleetsched": seawall.Off, "workershed": seawall.Enforce,
	}})
	f.Gate("ratelimit", "api")
	f.Gate("ratelimit", "login")
	require.Equal(t, strings.Join([]string{
		`flags.json:7: seawall-: nothing reads this flag`,
		`flags.json:7: seawall-ratelimit-apl-mode: nothing reads this flag; did you mean seawall-ratelimit-api-mode?`,
		`flags.json:7: seawall-ratelimt-enabled: nothing reads this flag; did you mean seawall-ratelimit-enabled?`,
		`flags.json:7: seawall-team: nothing reads this flag`,
		`flags: Config.Defaults["fleetsched"]: no layer or policy has this name; did you mean fleetshed?`,
		`flags: Config.Defaults["ratelimit:apl"]: no layer or policy has this name; did you mean ratelimit:api?`,
	}, "\n"), f.Unread().Error())
	require.NoError(t, f.Err(), "it is a statement of now")

	f.Gate("ratelimit", "apl")
	f.Gate("ratelimt", "")
	f.Gate("fleetsched", "")
	require.Equal(t, "flags.json:7: seawall-: nothing reads this flag\nflags.json:7: seawall-team: nothing reads this flag", f.Unread().Error())
}

func TestNothingIsMisspelt(t *testing.T) {
	t.Parallel()
	defaults := map[string]seawall.Mode{"ratelimit": seawall.LogOnly}
	for name, cfg := range map[string]flags.Config{
		"no source":               {Defaults: defaults},
		"a source without a list": {Source: silent{}, Defaults: defaults},
		"known keys":              {Source: listing{"seawall-workershed-mode", "seawall-ratelimit-scale"}, Defaults: defaults},
		"keys of somebody else":   {Source: listing{"seawall-ratelimt-mode"}, Prefix: "pay", Defaults: defaults},
		"no keys":                 {Source: listing{}},
	} {
		cfg.Interval = time.Hour
		assert.NoError(t, start(t, cfg).Unread(), name)
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "abc", 0},
		{"api", "apl", 1},
		{"ratelimt", "ratelimit", 1},
		{"kitten", "sitting", 3},
		{"flaw", "lawn", 2},
		{"ab", "ba", 2},
		{"intention", "execution", 5},
	} {
		assert.Equal(t, c.want, flags.Edits(c.a, c.b), "%s, %s", c.a, c.b)
		assert.Equal(t, c.want, flags.Edits(c.b, c.a), "%s, %s", c.b, c.a)
	}
}

// TestAMisspeltFlagIsLoggedWhenItComes is about an operator who edits the file in a hurry.
func TestAMisspeltFlagIsLoggedWhenItComes(t *testing.T) {
	t.Parallel()
	file := func(key string) string {
		return `{"flags": {"` + key + `": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off"}}}`
	}
	path, log := filepath.Join(t.TempDir(), "flags.json"), &logbook{}
	write(t, path, file("seawall-ratelimt-mode"))
	f, err := flags.OpenFile(t.Context(), path, flags.Config{Logger: slog.New(log), Interval: 10 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	require.Zero(t, f.UnreadCount(), "the stack may not be built yet")
	require.ErrorContains(t, f.Unread(), "did you mean seawall-ratelimit-mode?")
	require.Equal(t, 1, f.UnreadCount())
	replace(t, path, file("seawall-ratelimt-enabled"))
	require.Eventually(t, func() bool { return log.count("did you mean seawall-ratelimit-enabled?") == 1 }, soon, poll)
	replace(t, path, file("seawall-ratelimit-enabled"))
	becomes(t, seawall.Off, f.Gate("ratelimit", ""))
	require.Equal(t, 1, log.count("nothing reads"), "once, and what Unread has told not again")
	require.Zero(t, f.UnreadCount())
}
