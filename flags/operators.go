package flags

import (
	"fmt"
	"math"
	"strconv"

	"github.com/diegoholiveira/jsonlogic/v3"
)

// ownOperators are the operators that flagd adds to JSONLogic, and the names under which jsonlogic has ours.
// Its registry is one for the process: under their own names, ours and those of flagd's provider would replace
// each other. It is also a map without a lock, read at every evaluation, so they are in it before main begins,
// when nobody evaluates; this is why it is no constructor that registers them.
var ownOperators = register(map[string]func(values, data any) any{
	"fractional":  fractional,
	"starts_with": startsWith,
	"ends_with":   endsWith,
	"sem_ver":     compareVersions,
})

func register(operators map[string]func(values, data any) any) map[string]string {
	names := make(map[string]string, len(operators))
	for name, operator := range operators {
		names[name] = "seawall:" + name
		jsonlogic.AddOperator(names[name], operator)
	}
	return names
}

// arity is how many arguments an operator takes. A bare one need not be in a list: {"!": true}, or comes as a
// list that an expression gives.
type arity struct {
	least, most int
	bare        bool
}

const noLimit = math.MaxInt

// arguments are those of flagd's schema and, where jsonlogic can do more, those of jsonlogic.
var arguments = map[string]arity{
	"var": {0, 2, true}, "missing": {0, noLimit, true}, "missing_some": {2, 2, false},
	"if": {1, noLimit, false}, "?:": {3, 3, false}, "and": {1, noLimit, false}, "or": {1, noLimit, false},
	"!": {1, 1, true}, "!!": {1, 1, true},
	"==": {2, 2, false}, "===": {2, 2, false}, "!=": {2, 2, false}, "!==": {2, 2, false},
	"<": {2, 3, false}, "<=": {2, 3, false}, ">": {2, 3, false}, ">=": {2, 3, false},
	"+": {1, noLimit, true}, "-": {1, noLimit, true}, "*": {1, noLimit, true}, "/": {2, noLimit, false}, "%": {2, 2, false},
	"max": {1, noLimit, true}, "min": {1, noLimit, true}, "abs": {1, 1, true},
	"in": {2, 2, false}, "cat": {1, noLimit, true}, "substr": {2, 3, false}, "merge": {0, noLimit, true},
	"map": {2, 2, false}, "filter": {2, 2, false}, "reduce": {3, 3, false},
	"all": {2, 2, false}, "none": {2, 2, false}, "some": {2, 2, false}, "set": {3, 3, false},
	"fractional": {2, noLimit, false}, "starts_with": {2, 2, false}, "ends_with": {2, 2, false}, "sem_ver": {3, 3, false},
}

func (a arity) String() string {
	switch {
	case a.least == a.most:
		return strconv.Itoa(a.least)
	case a.most == noLimit:
		return strconv.Itoa(a.least) + " or more"
	}
	return fmt.Sprintf("%d to %d", a.least, a.most)
}

// count refuses an operator with another number of arguments than it takes: jsonlogic would take
// {"==": [1]} for something else.
func (r ruleReader) count(m member, want arity) error {
	args, listed := m.value.([]node)
	switch {
	case !listed && want.bare:
		return nil
	case !listed:
		return r.wrong(m.line, "%s: the arguments of %q are %s; want an array of %v", r.subject, m.name, m.kind(), want)
	case len(args) < want.least || len(args) > want.most:
		return r.wrong(m.line, "%s: %q has %d arguments; want %v", r.subject, m.name, len(args), want)
	}
	return nil
}

// isOperation tells an expression from a literal.
func isOperation(n node) bool {
	_, ok := n.value.([]member)
	return ok
}
