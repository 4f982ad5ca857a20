// Flagd is an API behind a rate limit whose modes come from flagd's own OpenFeature provider. It reads a file
// here; WithHost and WithPort instead of the file, and it asks a flagd server.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"
	flagd "github.com/open-feature/go-sdk-contrib/providers/flagd/pkg"
	"github.com/open-feature/go-sdk/openfeature/isolated"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8082", "where to listen")
	file := flag.String("flags", "flags.json", "the flag file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *addr, *file)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr, file string) (err error) {
	a, err := newAPI(ctx, file)
	if err != nil {
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- a.echo.Start(addr) }()
	select {
	case err = <-stopped:
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, a.echo.Shutdown(ctx), a.close(ctx))
}

// api is the service and what ends with it.
type api struct {
	echo  *echo.Echo
	flags *flags.Flags
	close func(context.Context) error
}

func newAPI(ctx context.Context, file string) (*api, error) {
	callers, err := identity.NewHasher(identity.Config{})
	if err != nil {
		return nil, err
	}
	modes, closeFlags, err := newFlags(ctx, file, callers)
	if err != nil {
		return nil, err
	}
	perCaller := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 5)}
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{perCaller}, Scale: modes.Scale})
	if err != nil {
		return nil, errors.Join(err, closeFlags(ctx))
	}
	stack, err := seawall.New(seawall.Config{Store: memstore.New(memstore.Config{}), Modes: modes}, rate)
	if err != nil {
		return nil, errors.Join(err, closeFlags(ctx))
	}
	e := echo.New()
	e.HideBanner = true
	// A key is a stand-in for real authentication: sk_ and whose it is.
	byKey := callers.ByAPIKey(identity.APIKey{
		Verify: func(_ identity.Call, key string) bool { return strings.HasPrefix(key, "sk_") },
		Name:   func(_ identity.Call, key string) string { return strings.TrimPrefix(key, "sk_") },
	})
	e.Use(middleware.StackWithConfig(middleware.StackConfig{Stack: stack, Config: middleware.Config{Identify: byKey}}))
	e.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, "hello\n") })
	return &api{echo: e, flags: modes, close: func(ctx context.Context) error {
		return errors.Join(stack.Close(ctx), closeFlags(ctx))
	}}, nil
}

// newFlags reads modes through flagd's provider, with an OpenFeature API of their own. Flags may be targeted at callers: by
// their ids (targetingKey), and by the attributes plan, authenticated and, here, customer.
func newFlags(ctx context.Context, file string, callers *identity.Hasher) (_ *flags.Flags, closeAll func(context.Context) error, err error) {
	provider, err := flagd.NewProvider(flagd.WithInProcessResolver(), flagd.WithOfflineFilePath(file))
	if err != nil {
		return nil, nil, err
	}
	of := isolated.NewAPI()
	if err := of.SetProviderAndWait(ctx, provider); err != nil {
		return nil, nil, errors.Join(err, of.Shutdown(ctx))
	}
	f, err := flags.New(flags.Config{Client: of.NewClient(), Targeting: &flags.Targeting{
		CallerID:   callers.CallerID,
		Attributes: func(r *seawall.Request) map[string]any { return map[string]any{"customer": r.Name} },
	}})
	if err != nil {
		return nil, nil, errors.Join(err, of.Shutdown(ctx))
	}
	return f, func(ctx context.Context) error { return errors.Join(f.Close(), of.Shutdown(ctx)) }, nil
}
