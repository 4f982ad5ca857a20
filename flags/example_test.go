package flags_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seawall-go/seawall/flags"
)

// A file in flagd's format. To turn a flag, change its defaultVariant; it is followed within about a second.
func ExampleOpenFile() {
	dir, err := os.MkdirTemp("", "flags")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "flags.json")
	err = os.WriteFile(path, []byte(`{
  "$schema": "https://flagd.dev/schema/v0/flags.json",
  "flags": {
    "seawall-fleetshed-enabled": {
      "state": "ENABLED",
      "variants": {"on": true, "off": false},
      "defaultVariant": "off"
    },
    "seawall-ratelimit-login-mode": {
      "state": "ENABLED",
      "variants": {"enforce": "enforce", "log-only": "log-only"},
      "defaultVariant": "log-only"
    },
    "seawall-ratelimit-scale": {
      "state": "ENABLED",
      "variants": {"usual": 1, "sale": 2.5},
      "defaultVariant": "sale"
    }
  }
}`), 0o600)
	if err != nil {
		panic(err)
	}

	f, err := flags.OpenFile(context.Background(), path, flags.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	fmt.Println("ratelimit is", f.Gate("ratelimit", "")(nil))
	fmt.Println("its policy login is", f.Gate("ratelimit", "login")(nil))
	fmt.Println("fleetshed is", f.Gate("fleetshed", "")(nil))
	fmt.Println("rates are multiplied by", f.Scale())
	// Output:
	// ratelimit is enforce
	// its policy login is log-only
	// fleetshed is off
	// rates are multiplied by 2.5
}
