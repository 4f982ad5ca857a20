package flags

import (
	"context"
	"errors"
	"fmt"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/seawall-go/seawall"
)

// The range of the scale: beyond it a typing error is likelier than an intention.
const (
	minScale = 0.001
	maxScale = 1000
)

// flag is one key with its last good value, which Flags.mu guards.
type flag[V comparable] struct {
	key      string
	fallback V
	last     V
	ask      func(ctx context.Context, c Client, key string, fallback V) (V, error)
}

// evaluator is a flag of any type.
type evaluator interface {
	name() string
	// evaluate asks the client. keep, called under Flags.mu, makes the answer the last good value and
	// tells whether that changes it.
	evaluate(ctx context.Context, c Client) (keep func() bool, err error)
}

func (f *flag[V]) name() string { return f.key }

func (f *flag[V]) evaluate(ctx context.Context, c Client) (keep func() bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("flag %q: the provider panicked: %v", f.key, p)
		}
	}()
	v, err := f.ask(ctx, c, f.key, f.fallback)
	if err != nil {
		return nil, fmt.Errorf("flag %q: %w", f.key, err)
	}
	return func() bool {
		changed := f.last != v
		f.last = v
		return changed
	}, nil
}

func newSwitch(key string, fallback bool) *flag[bool] {
	return &flag[bool]{
		key: key, fallback: fallback, last: fallback,
		ask: func(ctx context.Context, c Client, key string, fallback bool) (bool, error) {
			d, err := c.BooleanValueDetails(ctx, key, fallback, openfeature.EvaluationContext{})
			return answer(d, err, fallback, "a boolean")
		},
	}
}

func newMode(key string, fallback seawall.Mode) *flag[seawall.Mode] {
	return &flag[seawall.Mode]{
		key: key, fallback: fallback, last: fallback,
		ask: func(ctx context.Context, c Client, key string, fallback seawall.Mode) (seawall.Mode, error) {
			d, err := c.StringValueDetails(ctx, key, fallback.String(), openfeature.EvaluationContext{})
			text, err := answer(d, err, fallback.String(), "a string")
			if err != nil {
				return fallback, err
			}
			for _, m := range [...]seawall.Mode{seawall.Enforce, seawall.LogOnly, fallback} {
				if text == m.String() {
					return m, nil
				}
			}
			return fallback, fmt.Errorf("%.64q is not a mode; want %q or %q", text, seawall.Enforce, seawall.LogOnly)
		},
	}
}

func newScale(key string) *flag[float64] {
	return &flag[float64]{
		key: key, fallback: 1, last: 1,
		ask: func(ctx context.Context, c Client, key string, fallback float64) (float64, error) {
			d, err := c.FloatValueDetails(ctx, key, fallback, openfeature.EvaluationContext{})
			v, err := answer(d, err, fallback, "a number")
			if err == nil && !(v >= minScale && v <= maxScale) { // in this form it refuses NaN too
				err = fmt.Errorf("%v is out of range; want %v to %v", v, minScale, maxScale)
			}
			return v, err
		},
	}
}

// answer sorts out what an evaluation came to. The SDK's error does not tell why, only the details do.
func answer[T any](d openfeature.GenericEvaluationDetails[T], err error, fallback T, want string) (T, error) {
	if err == nil && d.ErrorCode != "" {
		err = errors.New(string(d.ErrorCode) + ": " + d.ErrorMessage)
	}
	switch {
	case d.ErrorCode == openfeature.FlagNotFoundCode:
		return fallback, nil
	case d.ErrorCode == openfeature.TypeMismatchCode:
		return fallback, fmt.Errorf("not %s: %w", want, err)
	case err != nil:
		return fallback, err
	case d.Reason == openfeature.DisabledReason:
		return fallback, nil
	}
	return d.Value, nil
}
