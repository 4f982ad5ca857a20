package policyfile_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/ratelimit/policyfile"
)

// Whatever a file says, it is policies that a limiter takes and plans with, or errors that say where.
func FuzzParse(f *testing.F) {
	for _, c := range goodFiles(f) {
		f.Add([]byte(c.text))
	}
	for _, c := range badFiles() {
		f.Add([]byte(c.text))
	}
	where := regexp.MustCompile(`^dir/p\.yaml:([0-9]+): .|^dir/p\.yaml: and [0-9]+ more errors$`)
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := policyfile.Parse("dir/p.yaml", data)
		if (file == nil) == (err == nil) {
			t.Fatalf("a file %v and an error %v", file, err)
		}
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				m := where.FindStringSubmatch(line)
				if m == nil {
					t.Fatalf("%q says not where", line)
				}
				if n, _ := strconv.Atoi(m[1]); m[1] != "" && (n < 1 || n > 1+strings.Count(string(data), "\n")) {
					t.Fatalf("%q is outside of the file", line)
				}
			}
			return
		}
		limiter, err := ratelimit.New(ratelimit.Config{Policies: file.Policies()})
		if err != nil {
			t.Fatalf("the limiter refuses: %v", err)
		}
		if err := limiter.Reload(file.Policies()); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*seawall.Request{
			{Key: seawall.NewKey("user", "42"), Route: "/v1/search", Authenticated: true}, {Key: seawall.NewKey("kea")}, {Key: seawall.NewKey(""), Route: "/"}, {},
		} {
			for _, c := range limiter.Plan(nil, r) {
				if c.Cost < 1 || c.Key != r.Key || c.Rule.Kind() != "block" && c.Rule.(ratelimit.Rule).Window() <= 0 {
					t.Fatalf("planned: %+v", c)
				}
			}
		}
	})
}
