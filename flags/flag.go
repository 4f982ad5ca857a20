package flags

import (
	"cmp"
	"context"
	"fmt"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/seawall-go/seawall"
)

// The range of the scale: beyond it a typing error is likelier than an intention.
const (
	minScale = 0.001
	maxScale = 1000
)

// flag is one key and what is known of it.
type flag[V comparable] struct {
	key       string
	fallback  V
	ask       func(ctx context.Context, c Client, who openfeature.EvaluationContext) (V, audience, error)
	code      func(V) uint8   // what a snapshot and a caller keep of a value; of two codes the greater is ...
	laxer     bool            // ... the laxer, or the stricter
	strict    func(V) float64 // of two values the greater is the stricter
	laxest    V
	switches  bool // it is a kill switch
	perCaller bool // callers may have values of their own

	// Guarded by Flags.mu.
	last     V    // the last good value without a caller
	answered bool // last came from the provider
	targeted bool // callers may have values other than last, now
}

// evaluator is a flag of any type.
type evaluator interface {
	name() string
	// evaluate asks the client without a caller. Only the goroutine that keeps answers calls it.
	evaluate(ctx context.Context, c Client) (reply, error)
	// evaluateFor asks the client for a caller and returns the code of the value.
	evaluateFor(ctx context.Context, c Client, who openfeature.EvaluationContext) (uint8, error)
	// state is what a snapshot knows of the flag. Call it under Flags.mu.
	state() state
	// laxerOf returns the laxer of two codes.
	laxerOf(a, b uint8) uint8
	// isSwitch tells whether the flag is a kill switch.
	isSwitch() bool
}

// reply is a valid answer to an evaluation.
type reply struct {
	keep     func() (changed bool) // makes it the last good one; call it under Flags.mu
	ease     func() (changed bool) // makes as much of it the last good one as is laxer; call it under Flags.mu
	stricter bool                  // than the last good one, for somebody
}

// state is a flag's value without a caller, by its code.
type state struct {
	value    uint8
	targeted bool
	answered bool // it came from the provider
}

// The codes of a switch; those of a mode are the modes.
const (
	codeOff uint8 = iota
	codeOn
)

func (f *flag[V]) name() string { return f.key }

func (f *flag[V]) isSwitch() bool { return f.switches }

func (f *flag[V]) laxerOf(a, b uint8) uint8 {
	if f.laxer {
		return max(a, b)
	}
	return min(a, b)
}

func (f *flag[V]) state() state { return state{f.code(f.last), f.targeted, f.answered} }

func (f *flag[V]) evaluate(ctx context.Context, c Client) (reply, error) {
	v, to, err := f.answer(ctx, c, openfeature.EvaluationContext{})
	if err != nil && !(f.perCaller && to == perhapsOthers) {
		return reply{}, fmt.Errorf("flag %q: %w", f.key, err)
	}
	targeted := f.perCaller && to != everyone
	if to == asBefore && f.answered {
		targeted = f.targeted
	}
	return reply{
		keep: func() bool {
			changed := f.last != v || f.targeted != targeted
			f.last, f.targeted, f.answered = v, targeted, true
			return changed
		},
		ease: func() bool {
			if f.strict(v) >= f.strict(f.last) {
				return false
			}
			f.last = v
			return true
		},
		stricter: f.strict(v) > f.strict(f.last) || targeted != f.targeted && (targeted || v != f.laxest),
	}, nil
}

func (f *flag[V]) evaluateFor(ctx context.Context, c Client, who openfeature.EvaluationContext) (uint8, error) {
	v, _, err := f.answer(ctx, c, who)
	if err != nil {
		return 0, fmt.Errorf("flag %q for caller %q: %w", f.key, who.TargetingKey(), err)
	}
	return f.code(v), nil
}

// answer asks the client; a panic is an error.
func (f *flag[V]) answer(ctx context.Context, c Client, who openfeature.EvaluationContext) (v V, to audience, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, to, err = f.fallback, everyone, fmt.Errorf("the provider panicked: %v", p)
		}
	}()
	return f.ask(ctx, c, who)
}

func newSwitch(key string, fallback, perCaller bool) *flag[bool] {
	return &flag[bool]{
		key: key, fallback: fallback, last: fallback, perCaller: perCaller, switches: true,
		ask: func(ctx context.Context, c Client, who openfeature.EvaluationContext) (bool, audience, error) {
			d, err := c.BooleanValueDetails(ctx, key, fallback, who)
			return answer(d, err, fallback, "a boolean")
		},
		code: func(on bool) uint8 {
			if on {
				return codeOn
			}
			return codeOff
		},
		strict: func(on bool) float64 {
			if on {
				return 1
			}
			return 0
		},
	}
}

func newMode(key string, fallback seawall.Mode, perCaller bool) *flag[seawall.Mode] {
	return &flag[seawall.Mode]{
		key: key, fallback: fallback, last: fallback, perCaller: perCaller, laxer: true,
		ask: func(ctx context.Context, c Client, who openfeature.EvaluationContext) (seawall.Mode, audience, error) {
			d, err := c.StringValueDetails(ctx, key, fallback.String(), who)
			text, to, err := answer(d, err, fallback.String(), "a string")
			if err != nil {
				return fallback, to, err
			}
			for _, m := range [...]seawall.Mode{seawall.Enforce, seawall.LogOnly, fallback} {
				if text == m.String() {
					return m, to, nil
				}
			}
			return fallback, everyone, fmt.Errorf("%.64q is not a mode; want %q or %q", text, seawall.Enforce, seawall.LogOnly)
		},
		code:   func(m seawall.Mode) uint8 { return uint8(m) },
		strict: func(m seawall.Mode) float64 { return -float64(m) },
		laxest: max(seawall.LogOnly, fallback),
	}
}

// newScale is the one flag that has a value for everyone only.
func newScale(key string) *flag[float64] {
	return &flag[float64]{
		key: key, fallback: 1, last: 1,
		ask: func(ctx context.Context, c Client, who openfeature.EvaluationContext) (float64, audience, error) {
			d, err := c.FloatValueDetails(ctx, key, 1, who)
			v, to, err := answer(d, err, 1, "a number")
			if err == nil && !(v >= minScale && v <= maxScale) { // in this form it refuses NaN too
				err = fmt.Errorf("%v is out of range; want %v to %v", v, minScale, maxScale)
			}
			return v, to, err
		},
		code:   func(float64) uint8 { return 0 },
		strict: func(v float64) float64 { return -v },
	}
}

// audience is for whom an answer holds.
type audience uint8

const (
	everyone      audience = iota // whoever asks
	perhapsOthers                 // callers may be answered differently
	asBefore                      // the provider remembered the answer, and not for whom it holds
)

// answer sorts out what an evaluation came to. The SDK's error does not tell why, only the details do.
func answer[T any](d openfeature.GenericEvaluationDetails[T], err error, fallback T, want string) (T, audience, error) {
	if err == nil && (d.ErrorCode != "" || d.Reason == openfeature.ErrorReason) {
		err = fmt.Errorf("%s: %s", cmp.Or(d.ErrorCode, openfeature.GeneralCode), cmp.Or(d.ErrorMessage, "the provider says no more"))
	}
	switch {
	case d.ErrorCode == openfeature.FlagNotFoundCode:
		return fallback, everyone, nil
	case d.ErrorCode == openfeature.TypeMismatchCode:
		return fallback, everyone, fmt.Errorf("not %s: %w", want, err)
	case d.ErrorCode == openfeature.TargetingKeyMissingCode:
		return fallback, perhapsOthers, err
	case err != nil:
		return fallback, everyone, err
	}
	switch d.Reason {
	case openfeature.DisabledReason, openfeature.StaticReason:
		return d.Value, everyone, nil
	case openfeature.CachedReason:
		return d.Value, asBefore, nil
	}
	return d.Value, perhapsOthers, nil
}
