package arrows

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/seawall-go/seawall"
	top    = "../.."
)

// What a package may be kept free of, by import path; packages below are meant too.
var (
	echo        = []string{"github.com/labstack/echo"}
	goRedis     = []string{"github.com/redis"}
	prometheus  = []string{"github.com/prometheus"}
	openFeature = []string{"github.com/open-feature"}
)

// rule says what the packages of a folder may import. Tests may import what they like.
type rule struct {
	folder  string // "" is the root package; otherwise the packages below are meant too, if not alone
	alone   bool
	except  string   // a folder below that is free
	may     []string // folders of this module, "" is the root package; nil: no restriction
	libs    []string // other modules' packages, by prefix; nil: no restriction
	without []string // what must not be linked, not even through others, by prefix
	why     string
}

var (
	rootOnly = []string{""}
	stdOnly  = []string{}
)

const (
	whyLimiter = "a limiter knows the vocabulary, and no framework, store, metric, flag or other limiter" +
		" (but fleetshed knows concurrency: a fleet slot is a lease)"
	whyAdapter = "an adapter knows its framework and what is mounted; a store and an observer are passed in," +
		" so that an app on memstore links no Redis client"
	whyStore = "a store evaluates rules that it does not know by name, so that a new rule needs no new store"
)

var beyondLimiters = slices.Concat(echo, goRedis, prometheus, openFeature)

var rules = []rule{
	{
		folder: "", may: []string{}, libs: stdOnly,
		why: "everything imports the vocabulary, so it imports the standard library only",
	},
	{folder: "ratelimit", except: "ratelimit/policyfile", may: rootOnly, libs: stdOnly, without: beyondLimiters, why: whyLimiter},
	{
		folder: "ratelimit/policyfile", may: []string{"", "ratelimit", "flags/filewatch"},
		libs:    []string{"go.yaml.in/yaml/v4"},
		without: beyondLimiters,
		why:     "a policy file turns YAML into the ratelimit's policies and knows nothing else",
	},
	{folder: "concurrency", may: rootOnly, libs: stdOnly, without: beyondLimiters, why: whyLimiter},
	{folder: "fleetshed", may: []string{"", "concurrency"}, libs: stdOnly, without: beyondLimiters, why: whyLimiter},
	{folder: "workershed", may: rootOnly, libs: stdOnly, without: beyondLimiters, why: whyLimiter},
	{
		folder: "store", except: "store/storetest", may: []string{"", "store/split"},
		without: slices.Concat(echo, prometheus, openFeature),
		why:     whyStore,
	},
	{
		folder: "store/memstore", may: rootOnly, libs: stdOnly,
		why: "the embedded default costs an app no dependency",
	},
	{folder: "store/split", may: rootOnly, libs: stdOnly, why: "dividing a request is the same for all stores"},
	{
		folder: "store/redisstore", may: []string{"", "store/split"},
		without: slices.Concat(echo, prometheus, openFeature),
		why:     whyStore,
	},
	{
		folder: "flags/filewatch", may: []string{}, libs: []string{"github.com/fsnotify/fsnotify"},
		without: slices.Concat(beyondLimiters, []string{module}),
		why:     "following a file is the same for flags and for policies, and knows neither",
	},
	{
		folder: "flags", except: "flags/filewatch", may: []string{"", "flags/filewatch"},
		libs: slices.Concat(openFeature, []string{
			"github.com/diegoholiveira/jsonlogic", "github.com/twmb/murmur3", "github.com/maypok86/otter",
		}),
		without: slices.Concat(echo, goRedis, prometheus),
		why:     "flags turn OpenFeature into modes and know nothing else",
	},
	{
		folder: "middleware/identity", may: rootOnly, libs: []string{"golang.org/x/text"},
		without: beyondLimiters,
		why:     "who asks is the same question in every framework",
	},
	{
		folder: "middleware/guard", may: []string{"", "middleware/identity", "ratelimit", "concurrency", "fleetshed"}, libs: stdOnly,
		without: beyondLimiters,
		why:     "what is decided and answered is the same in every framework",
	},
	{
		folder: "middleware/telemetry", may: []string{"", "flags", "workershed"},
		without: slices.Concat(echo, goRedis),
		why:     "metrics and traces are the same in every framework",
	},
	{
		folder: "middleware/report", may: []string{"", "ratelimit"}, libs: stdOnly,
		without: beyondLimiters,
		why:     "who would be refused is the same in every framework, and no metric could tell",
	},
	{
		folder: "middleware/nethttp", may: []string{"", "middleware/identity", "middleware/guard"}, libs: stdOnly,
		without: beyondLimiters,
		why:     whyAdapter,
	},
	{
		folder: "middleware", alone: true,
		may:     []string{"", "middleware/identity", "middleware/guard", "ratelimit", "concurrency", "fleetshed", "workershed"},
		libs:    echo,
		without: slices.Concat(goRedis, prometheus, openFeature),
		why:     whyAdapter,
	},
	{
		folder: "examples/quickstart", without: goRedis,
		why: "it shows that the embedded store needs no Redis client",
	},
}

// pkg is what go list says about a package and its non-test files.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string // transitively
	Error      *struct{ Err string }
}

// list returns all packages of the module and all they link.
func list(t *testing.T) map[string]pkg {
	t.Helper()
	// Look at the files: the test's cached result is then good only as long as they are the same, which go
	// cannot know about what go list reads.
	require.NoError(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if errors.Is(err, fs.ErrNotExist) { // an editor's file that has gone again
			return nil
		}
		return err
	}))

	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Standard,Imports,Deps,Error", "./...")
	cmd.Dir = top
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	pkgs := map[string]pkg{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		require.NoError(t, err)
		if ours(p.ImportPath) && p.Error != nil {
			t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		pkgs[p.ImportPath] = p
	}
}

func ours(path string) bool { return within(path, module) }

// within tells whether the package is prefix or below it. A version such as in echo/v4 counts as below.
func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func withinAny(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return within(path, p) })
}

func full(folder string) string {
	if folder == "" {
		return module
	}
	return module + "/" + folder
}

// covers tells whether the rule is about the package.
func (r rule) covers(path string) bool {
	if r.folder == "" || r.alone {
		return path == full(r.folder)
	}
	return within(path, full(r.folder)) && (r.except == "" || !within(path, full(r.except)))
}

// allows tells whether a package that the rule covers may import the other, which is not a standard one.
func (r rule) allows(path string) bool {
	switch {
	case r.covers(path):
		return true
	case !ours(path):
		return r.libs == nil || withinAny(path, r.libs)
	case r.may == nil:
		return true
	}
	return slices.ContainsFunc(r.may, func(folder string) bool {
		return path == full(folder) || folder != "" && within(path, full(folder))
	})
}

// check returns what is wrong.
func check(rules []rule, pkgs map[string]pkg) []string {
	var wrong []string
	for _, r := range rules {
		found := false
		for _, p := range pkgs {
			if !r.covers(p.ImportPath) {
				continue
			}
			found = true
			for _, path := range p.Imports {
				if !pkgs[path].Standard && !r.allows(path) {
					wrong = append(wrong, p.ImportPath+" imports "+path+": "+r.why)
				}
			}
			for _, path := range p.Deps {
				if withinAny(path, r.without) && !slices.Contains(p.Imports, path) {
					wrong = append(wrong, p.ImportPath+" links "+path+" through "+through(pkgs, p, path)+": "+r.why)
				} else if withinAny(path, r.without) && r.allows(path) {
					wrong = append(wrong, p.ImportPath+" imports "+path+": "+r.why)
				}
			}
		}
		if !found {
			wrong = append(wrong, full(r.folder)+" has no package, but a rule: "+r.why)
		}
	}
	for _, p := range pkgs {
		if !ours(p.ImportPath) || within(p.ImportPath, full("internal")) {
			continue
		}
		for _, path := range p.Imports {
			if within(path, full("internal")) {
				wrong = append(wrong, p.ImportPath+" imports "+path+": internal holds helpers for tests, and nothing that users touch")
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// through returns which import of p links the path.
func through(pkgs map[string]pkg, p pkg, path string) string {
	for _, i := range p.Imports {
		if slices.Contains(pkgs[i].Deps, path) {
			return i
		}
	}
	return "?"
}

func TestArrows(t *testing.T) {
	t.Parallel()
	for _, w := range check(rules, list(t)) {
		t.Error(w)
	}
}

// TestCheck is about the test itself: that every kind of wrong arrow is found.
func TestCheck(t *testing.T) {
	t.Parallel()
	const redis, echoV4 = "github.com/redis/go-redis/v9", "github.com/labstack/echo/v4"
	for name, c := range map[string]struct {
		imports map[string][]string // by folder
		want    []string            // prefixes of what is wrong
	}{
		"fine": {imports: map[string][]string{
			"": {"time"}, "ratelimit": {module}, "fleetshed": {module, full("concurrency")}, "workershed": {module, full("workershed/sim")},
			"store/redisstore": {module, redis}, "store/storetest": {full("ratelimit")}, "middleware": {module, full("ratelimit"), echoV4},
		}},
		"root imports a library": {
			imports: map[string][]string{"": {redis}},
			want:    []string{module + " imports " + redis + ": everything imports"},
		},
		"root imports a limiter": {
			imports: map[string][]string{"": {full("ratelimit")}},
			want:    []string{module + " imports " + full("ratelimit") + ": "},
		},
		"a limiter imports another": {
			imports: map[string][]string{"ratelimit": {full("concurrency")}},
			want:    []string{full("ratelimit") + " imports " + full("concurrency") + ": a limiter"},
		},
		"a limiter imports a framework below": {
			imports: map[string][]string{"workershed/sim": {echoV4}},
			want:    []string{full("workershed/sim") + " imports " + echoV4 + ": "},
		},
		"a store imports a limiter": {
			imports: map[string][]string{"store": {full("concurrency")}},
			want:    []string{full("store") + " imports " + full("concurrency") + ": a store"},
		},
		"memstore imports a library": {
			imports: map[string][]string{"store/memstore": {redis}},
			want:    []string{full("store/memstore") + " imports " + redis + ": "},
		},
		"the middleware imports the Redis client": {
			imports: map[string][]string{"middleware": {redis}},
			want:    []string{full("middleware") + " imports " + redis + ": "},
		},
		"the quickstart links it through another": {
			imports: map[string][]string{"examples/quickstart": {"example.com/some"}, "../some": {redis}},
			want:    []string{full("examples/quickstart") + " links " + redis + " through example.com/some: "},
		},
		"internal is imported": {
			imports: map[string][]string{"examples/payments": {full("internal/redistest")}, "internal/a": {full("internal/b")}},
			want:    []string{full("examples/payments") + " imports " + full("internal/redistest") + ": internal"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pkgs := map[string]pkg{"time": {ImportPath: "time", Standard: true}}
			for _, r := range rules { // no rule lacks its package
				pkgs[full(r.folder)] = pkg{ImportPath: full(r.folder)}
			}
			for folder, imports := range c.imports {
				path := full(folder)
				if outside, ok := strings.CutPrefix(folder, "../"); ok {
					path = "example.com/" + outside
				}
				pkgs[path] = pkg{ImportPath: path, Imports: imports, Deps: imports}
			}
			for path, p := range pkgs { // two steps are enough here
				for _, i := range p.Imports {
					p.Deps = append(slices.Clone(p.Deps), pkgs[i].Imports...)
				}
				pkgs[path] = p
			}
			wrong := check(rules, pkgs)
			require.Len(t, wrong, len(c.want), "%q", wrong)
			for i := range wrong {
				assert.True(t, strings.HasPrefix(wrong[i], c.want[i]), wrong[i])
			}
		})
	}
	t.Run("a folder is missing", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, []string{full("some") + " has no package, but a rule: reasons"},
			check([]rule{{folder: "some", why: "reasons"}}, nil))
	})
}
