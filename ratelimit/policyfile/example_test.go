package policyfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/ratelimit/policyfile"
)

// A limiter that has the policies of a file, and keeps to it while it changes.
func ExampleWatch() {
	dir, err := os.MkdirTemp("", "policies")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "policies.yaml")
	err = os.WriteFile(path, []byte(`
version: 1
ratelimit:
  - name: api
    bucket: {rate: 10/s, burst: 20}
    plans:
      gold: {bucket: {rate: 100/s, burst: 200}}
    overrides:
      - {caller: [user, "42"], plan: gold}
`), 0o600)
	if err != nil {
		panic(err)
	}

	f, err := policyfile.Load(path)
	if err != nil {
		panic(err)
	}
	limiter, err := ratelimit.New(ratelimit.Config{Policies: f.Policies()})
	if err != nil {
		panic(err)
	}
	w, err := policyfile.Watch(path, func(f *policyfile.File) error { return limiter.Reload(f.Policies()) }, nil)
	if err != nil {
		panic(err)
	}
	defer w.Close()

	for _, user := range []string{"41", "42"} {
		check := limiter.Plan(nil, &seawall.Request{Key: seawall.NewKey("user", user)})[0]
		fmt.Println(user, check.Rule.(ratelimit.Rule).Limit())
	}
	// Output:
	// 41 20
	// 42 200
}
