package flags

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-feature/go-sdk/openfeature"
)

// fileFlag is a flag of a file. It is never changed once it is served.
type fileFlag struct {
	line           int
	disabled       bool
	variants       map[string]any // bool, string, int64, float64 or map[string]any, and all alike
	defaultVariant string
	targeting      *rule // nil: always the defaultVariant
}

func (f *fileFlag) has(variant string) bool {
	_, ok := f.variants[variant]
	return ok
}

// names lists the variants for an error.
func (f *fileFlag) names() string {
	const most = 8
	names := slices.Sorted(maps.Keys(f.variants))
	more := ""
	if len(names) > most {
		names, more = names[:most], ", ..."
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("%.64q", n)
	}
	return strings.Join(names, ", ") + more
}

// fileFlags are the flags of a file, by key.
type fileFlags map[string]*fileFlag

// evaluate returns the value of a flag, and fallback where it has none; as tells whether a value is of the type
// that is asked for.
func evaluate[T any](
	flags fileFlags, key string, fallback T, attributes openfeature.FlattenedContext, as func(any) (T, bool),
) openfeature.GenericResolutionDetail[T] {
	answer := func(value T, d openfeature.ProviderResolutionDetail) openfeature.GenericResolutionDetail[T] {
		return openfeature.GenericResolutionDetail[T]{Value: value, ProviderResolutionDetail: d}
	}
	failed := func(err openfeature.ResolutionError) openfeature.GenericResolutionDetail[T] {
		return answer(fallback, openfeature.ProviderResolutionDetail{ResolutionError: err, Reason: openfeature.ErrorReason})
	}
	flag := flags[key]
	if flag == nil {
		return failed(openfeature.NewFlagNotFoundResolutionError(fmt.Sprintf("flag %q is not in the file", key)))
	}
	if flag.disabled {
		return answer(fallback, openfeature.ProviderResolutionDetail{Reason: openfeature.DisabledReason})
	}
	variant, reason, err := flag.variant(key, attributes)
	if err != nil {
		return failed(openfeature.NewParseErrorResolutionError(err.Error()))
	}
	value, ok := as(flag.variants[variant])
	if !ok {
		text := fmt.Sprintf("variant %q of flag %q is a %T", variant, key, flag.variants[variant])
		return failed(openfeature.NewTypeMismatchResolutionError(text))
	}
	return answer(value, openfeature.ProviderResolutionDetail{Reason: reason, Variant: variant})
}

// variant returns the variant for a context, and why it is that one.
func (f *fileFlag) variant(key string, attributes openfeature.FlattenedContext) (string, openfeature.Reason, error) {
	if f.targeting == nil {
		return f.defaultVariant, openfeature.StaticReason, nil
	}
	name, ok, err := f.targeting.variant(key, attributes)
	switch {
	case err != nil:
		return "", "", err
	case !ok:
		return f.defaultVariant, openfeature.DefaultReason, nil
	case !f.has(name):
		return "", "", fmt.Errorf("targeting gave %.64q; want one of the variants %s", name, f.names())
	}
	return name, openfeature.TargetingMatchReason, nil
}

// is is for what is kept as what it is asked for.
func is[T any](value any) (T, bool) {
	v, ok := value.(T)
	return v, ok
}

// asFloat is for floats: a whole number is one too.
func asFloat(value any) (float64, bool) {
	if i, ok := value.(int64); ok {
		return float64(i), true
	}
	return is[float64](value)
}
