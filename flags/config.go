package flags

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/seawall-go/seawall"
)

// The defaults of a Config.
const (
	DefaultPrefix   = "seawall"
	DefaultInterval = 10 * time.Second
	DefaultTimeout  = time.Second
)

// Client is the part of an OpenFeature client that Flags needs; *openfeature.Client has it.
type Client interface {
	BooleanValueDetails(ctx context.Context, flag string, defaultValue bool, evalCtx openfeature.EvaluationContext, options ...openfeature.Option) (openfeature.BooleanEvaluationDetails, error)
	StringValueDetails(ctx context.Context, flag string, defaultValue string, evalCtx openfeature.EvaluationContext, options ...openfeature.Option) (openfeature.StringEvaluationDetails, error)
	FloatValueDetails(ctx context.Context, flag string, defaultValue float64, evalCtx openfeature.EvaluationContext, options ...openfeature.Option) (openfeature.FloatEvaluationDetails, error)
	AddHandler(eventType openfeature.EventType, callback openfeature.EventCallback)
	RemoveHandler(eventType openfeature.EventType, callback openfeature.EventCallback)
}

// locator is a Source that knows where a flag is written, as "path:line: ".
type locator interface{ Where(flag string) string }

// Source is what feeds the provider, if it can fail on its own and knows: a [FileProvider] does.
type Source interface {
	// Errors counts what went wrong so far.
	Errors() int64
	// Err is what is wrong now, nil if nothing.
	Err() error
}

// Config says where flags come from. The zero value has none: every flag keeps its default.
type Config struct {
	// Client evaluates the flags; nil leaves every flag at its default for ever.
	Client Client
	// Source, if any, adds its errors to those of Flags.
	Source Source
	// Prefix begins every key; empty is DefaultPrefix.
	Prefix string
	// Defaults are the modes that hold while the provider does not know better, by layer name or by
	// "layer:policy"; absent is Enforce. Off for a layer is a kill switch whose default is false. Off for
	// a policy, which has no switch, holds until its mode flag says otherwise.
	Defaults map[string]seawall.Mode
	// Interval is the time between two evaluations when the provider reports no change; zero is
	// DefaultInterval.
	Interval time.Duration
	// Timeout bounds the evaluation of a flag, and how long New and Gate wait for those of all; zero is
	// DefaultTimeout.
	Timeout time.Duration
	// Targeting gives callers modes of their own; nil is the same modes for every caller.
	Targeting *Targeting
	// Logger is told what is wrong with flags; nil is slog.Default().
	Logger *slog.Logger
}

// complete returns c with the defaults filled in, or an error that names the field and the value.
func (c Config) complete() (Config, error) {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.Interval == 0 {
		c.Interval = DefaultInterval
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if err := seawall.ValidName("prefix", c.Prefix); err != nil {
		return c, fmt.Errorf("flags: Config.Prefix: %w", err)
	}
	if c.Interval < 0 {
		return c, fmt.Errorf("flags: Config.Interval is %v; want a positive duration, or zero for %v", c.Interval, DefaultInterval)
	}
	if c.Timeout < 0 {
		return c, fmt.Errorf("flags: Config.Timeout is %v; want a positive duration, or zero for %v", c.Timeout, DefaultTimeout)
	}
	if c.Targeting != nil {
		t, err := c.Targeting.complete()
		if err != nil {
			return c, err
		}
		c.Targeting = t
	}
	for name, m := range c.Defaults {
		if m > seawall.Off {
			return c, fmt.Errorf("flags: Config.Defaults[%q] is %d; want Enforce, LogOnly or Off", name, m)
		}
		layer, policy, both := strings.Cut(name, ":")
		err := seawall.ValidName("layer", layer)
		if err == nil && both {
			err = seawall.ValidName("policy", policy)
		}
		if err != nil {
			return c, fmt.Errorf("flags: Config.Defaults[%q]: want a layer or \"layer:policy\": %w", name, err)
		}
	}
	return c, nil
}
