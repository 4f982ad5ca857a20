package flags

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/diegoholiveira/jsonlogic/v3"
)

// flagdProperties is the attribute in which a rule finds what flagd adds to the caller's.
const flagdProperties = "$flagd"

// variant evaluates the rule for a context. None is not ok: the rule leaves it to the defaultVariant.
// jsonlogic panics over much that does not fit together; that is an error of this evaluation.
func (r rule) variant(flag string, attributes map[string]any) (name string, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("targeting cannot be evaluated: %v", p)
		}
	}()
	scope, err := newScope(flag, attributes)
	if err != nil {
		return "", false, err
	}
	result, err := jsonlogic.ApplyInterface(r.logic, scope)
	if err != nil {
		return "", false, fmt.Errorf("targeting cannot be evaluated: %w", err)
	}
	switch v := result.(type) {
	case nil:
		return "", false, nil
	case string:
		return v, true, nil
	case bool:
		return strconv.FormatBool(v), true, nil
	case int, float64: // by the schema anything may happen; flagd takes it for a name
		text, err := json.Marshal(v)
		if err != nil {
			return "", false, fmt.Errorf("targeting gave %v; want the name of a variant", v)
		}
		return string(text), true, nil
	}
	return "", false, fmt.Errorf("targeting gave a %T; want the name of a variant", result)
}

// newScope returns what a rule sees: the attributes as they are in JSON, as flagd has them, and $flagd.
func newScope(flag string, attributes map[string]any) (map[string]any, error) {
	text, err := json.Marshal(attributes)
	if err != nil {
		return nil, fmt.Errorf("an attribute has no JSON: %w; want values that encoding/json can write", err)
	}
	var scope map[string]any
	if err := json.Unmarshal(text, &scope); err != nil {
		return nil, fmt.Errorf("an attribute has JSON that cannot be read: %w", err)
	}
	if scope == nil {
		scope = make(map[string]any, 1)
	}
	scope[flagdProperties] = map[string]any{"flagKey": flag, "timestamp": float64(time.Now().Unix())}
	return scope, nil
}
