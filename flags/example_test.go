package flags_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"
	"github.com/open-feature/go-sdk/openfeature/memprovider"
	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
)

// The application chooses the API, the provider and the domain, and hands over a client. Two services that
// share a provider have a prefix each.
func ExampleNew() {
	ctx := context.Background()
	api := isolated.NewAPI()
	defer func() { _ = api.Shutdown(ctx) }()
	limits := openfeature.WithDomain("limits")
	provider := memprovider.NewInMemoryProvider(map[string]memprovider.InMemoryFlag{
		"checkout-api-ratelimit-mode": {
			State: memprovider.Enabled, DefaultVariant: "dark", Variants: map[string]any{"on": "enforce", "dark": "log-only"},
		},
		"search-api-enabled": {
			State: memprovider.Enabled, DefaultVariant: "off", Variants: map[string]any{"on": true, "off": false},
		},
	})
	if err := api.SetProviderAndWait(ctx, provider, limits); err != nil {
		fmt.Println(err)
		return
	}

	f, err := flags.New(flags.Config{Client: api.NewClient(limits), Prefix: "checkout-api"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	fmt.Println("ratelimit is", f.Gate("ratelimit", "")(nil))
	fmt.Println("concurrency is", f.Gate("concurrency", "")(nil))
	fmt.Println("everything is off:", f.Off())
	// Output:
	// ratelimit is log-only
	// concurrency is enforce
	// everything is off: false
}

// One plan first: the rate limit is enforced for callers on trial and is log-only for everybody else. That is
// also what a caller's first request meets, before it is known what the caller has.
func ExampleTargeting() {
	ctx := context.Background()
	api := isolated.NewAPI()
	defer func() { _ = api.Shutdown(ctx) }()
	rule := func(flag memprovider.InMemoryFlag, about openfeature.FlattenedContext) (any, openfeature.ProviderResolutionDetail) {
		if about["plan"] == "trial" { // or a hash of about["targetingKey"], for a percentage
			return flag.Variants["on"], openfeature.ProviderResolutionDetail{Reason: openfeature.TargetingMatchReason}
		}
		return flag.Variants["dark"], openfeature.ProviderResolutionDetail{Reason: openfeature.DefaultReason}
	}
	provider := memprovider.NewInMemoryProvider(map[string]memprovider.InMemoryFlag{
		"seawall-ratelimit-mode": {
			State: memprovider.Enabled, Variants: map[string]any{"on": "enforce", "dark": "log-only"}, ContextEvaluator: &rule,
		},
	})
	if err := api.SetProviderAndWait(ctx, provider); err != nil {
		fmt.Println(err)
		return
	}

	secret := seawall.SecretOf([32]byte{1}) // or the secret of an identity.Hasher, which has a CallerID, too
	f, err := flags.New(flags.Config{Client: api.NewClient(), Targeting: &flags.Targeting{CallerID: secret.CallerID}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	gate := f.Gate("ratelimit", "") // seawall.New does this
	trial := &seawall.Request{Key: seawall.NewKey("user", "alice"), Plan: "trial"}
	gold := &seawall.Request{Key: seawall.NewKey("user", "bob"), Plan: "gold"}
	fmt.Println("at first:", gate(trial), gate(gold))
	for range 500 {
		if gate(trial) == seawall.Enforce {
			break
		}
		time.Sleep(10 * time.Millisecond) // until the provider was asked for alice, off the request path
	}
	fmt.Println("then:", gate(trial), gate(gold))
	// Output:
	// at first: log-only log-only
	// then: enforce log-only
}

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
