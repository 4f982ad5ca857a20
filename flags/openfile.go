package flags

import (
	"context"
	"errors"
	"fmt"

	"github.com/open-feature/go-sdk/openfeature/isolated"
)

// OpenFile returns Flags that follow a local file in flagd's format; Close ends both. It has an OpenFeature
// API of its own, so it does not get in the way of the application's. cfg is as for New, but without Client
// and Source. A file that is invalid, or whose flags for the four layers are nonsensical, is an error that
// names with the file and the line; for the flags of policies see [Flags.Err].
func OpenFile(ctx context.Context, path string, cfg Config) (*Flags, error) {
	if cfg.Client != nil || cfg.Source != nil {
		return nil, errors.New("flags: OpenFile brings its own Config.Client and Config.Source; want both nil")
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	provider, err := NewFileProvider(path, cfg.Logger)
	if err != nil {
		return nil, err
	}
	api := isolated.NewAPI()
	if err := api.SetProviderAndWait(ctx, provider); err != nil {
		provider.Shutdown()
		return nil, errors.Join(fmt.Errorf("flags: %s: %w", path, err), api.Shutdown(context.WithoutCancel(ctx)))
	}
	cfg.Client, cfg.Source = api.NewClient(), provider
	f, err := New(cfg)
	if err != nil {
		return nil, errors.Join(err, api.Shutdown(context.WithoutCancel(ctx)))
	}
	f.alongside = api.Shutdown
	if err := f.Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("flags: %w", err), f.Close())
	}
	return f, nil
}
