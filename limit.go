package seawall

import "fmt"

// Failure says what becomes of a check when the store cannot be asked.
type Failure uint8

const (
	// FailLocal decides by this instance's share of the limit where a store wrapper knows how, and admits
	// otherwise. It is the zero value.
	FailLocal Failure = iota
	// FailOpen admits.
	FailOpen
	// FailClosed refuses with 503, for limits that guard money or logins.
	FailClosed
)

// String returns "local", "open" or "closed".
func (f Failure) String() string {
	switch f {
	case FailLocal:
		return "local"
	case FailOpen:
		return "open"
	case FailClosed:
		return "closed"
	}
	return "unknown"
}

// maxName is the longest name of a policy, and maxLayer that of a layer; see maxKeyText.
const maxName, maxLayer = 32, 15

// Limit names one policy of one layer: where its state is kept, how it is labelled, and what happens when
// the store cannot be asked. Limits are made once, by constructors, and never change.
type Limit struct {
	layer, policy string
	name          string
	hash          uint64 // of name
	onFailure     Failure
}

// NewLimit returns the limit of a policy of a layer. Both names are 1 to 32 lower-case letters, digits,
// '-' or '_', and begin with a letter; a layer's has at most 15.
func NewLimit(layer, policy string, onFailure Failure) (*Limit, error) {
	if err := ValidName("layer", layer); err != nil {
		return nil, err
	}
	if len(layer) > maxLayer {
		return nil, fmt.Errorf("seawall: layer name %q: want at most %d characters", layer, maxLayer)
	}
	if err := ValidName("policy", policy); err != nil {
		return nil, err
	}
	if onFailure > FailClosed {
		return nil, fmt.Errorf("seawall: policy %q: OnFailure is %d; want FailLocal, FailOpen or FailClosed", policy, onFailure)
	}
	return &Limit{layer: layer, policy: policy, name: layer + ":" + policy, hash: hash64(layer + ":" + policy), onFailure: onFailure}, nil
}

// Layer returns the layer's name.
func (l *Limit) Layer() string { return l.layer }

// Policy returns the policy's name.
func (l *Limit) Policy() string { return l.policy }

// Name returns "layer:policy", unique within a namespace of a store.
func (l *Limit) Name() string { return l.name }

// Hash returns 64 well-mixed bits of the name, the same in every process.
func (l *Limit) Hash() uint64 { return l.hash }

// OnFailure says what becomes of the limit's checks when the store cannot be asked.
func (l *Limit) OnFailure() Failure { return l.onFailure }

// ValidName returns an error that names what and value unless value is 1 to 32 lower-case letters, digits,
// '-' or '_' and begins with a letter: safe as a label, as a part of a flag's key and of a store's key.
func ValidName(what, value string) error {
	ok := value != "" && len(value) <= maxName && 'a' <= value[0] && value[0] <= 'z'
	for i := 0; ok && i < len(value); i++ {
		c := value[i]
		ok = 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
	}
	if !ok {
		return fmt.Errorf("seawall: %s name %q: want 1 to %d lower-case letters, digits, '-' or '_', beginning with a letter",
			what, value, maxName)
	}
	return nil
}
