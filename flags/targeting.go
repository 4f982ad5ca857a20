package flags

import (
	"errors"
	"fmt"
	"maps"

	"github.com/seawall-go/seawall"
)

// DefaultMaxCallers is how many callers' modes are remembered if Targeting does not say.
const DefaultMaxCallers = 65_536

// The attributes that every caller has.
const (
	planAttribute          = "plan"
	authenticatedAttribute = "authenticated"
)

// Targeting has callers know modes of their own: percentage roll-outs, one customer first. What the provider
// is told of a caller is its id (the targetingKey), "plan" and "authenticated", and never its key, its name
// or its address.
type Targeting struct {
	// CallerID returns what flags know a caller by, such as identity.Hasher.CallerID; the same key always has
	// the same id, and no id leads back to a key. Required. A caller whose id is empty has no modes of its own.
	CallerID func(seawall.Key) string
	// Attributes returns what else flags may know of the caller of a request; nil adds nothing. It should be
	// true of the caller, not just of this request, since modes are remembered by caller. A request may wait
	// for it, so it does not block, and nothing it returns is changed later. It holds no JSON of a client's own:
	// JSONLogic evaluates what looks like a rule.
	Attributes func(r *seawall.Request) map[string]any
	// MaxCallers is of how many callers the modes are remembered; zero is DefaultMaxCallers. Each takes
	// about 200 bytes, so that is 13 MB; with hundreds of policies a byte more for each.
	MaxCallers int
}

// complete returns t with the defaults filled in, or an error that names the field and the value.
func (t Targeting) complete() (*Targeting, error) {
	if t.MaxCallers == 0 {
		t.MaxCallers = DefaultMaxCallers
	}
	switch {
	case t.CallerID == nil:
		return nil, errors.New("flags: Config.Targeting.CallerID is nil; want a function such as identity.Hasher.CallerID")
	case t.MaxCallers < 0:
		return nil, fmt.Errorf("flags: Config.Targeting.MaxCallers is %d; want a positive number, or zero for %d",
			t.MaxCallers, DefaultMaxCallers)
	}
	return &t, nil
}

// id is what flags know a caller by.
func (t *Targeting) id(k seawall.Key) (id string, err error) {
	defer func() {
		if p := recover(); p != nil {
			id, err = "", fmt.Errorf("%s panicked: %v", callerIDFunc, p)
		}
	}()
	return t.CallerID(k), nil
}

// attributes are what flags may know of the caller of r. They keep nothing of r but strings.
func (t *Targeting) attributes(r *seawall.Request) (all map[string]any, err error) {
	all = map[string]any{}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v", attributesFunc, p)
		}
		all[planAttribute], all[authenticatedAttribute] = r.Plan, r.Authenticated
	}()
	if t.Attributes != nil {
		maps.Copy(all, t.Attributes(r))
	}
	return all, nil
}
