package flags

import (
	"math"
	"strings"
)

const (
	// maxRuleSteps is how much an evaluation may do: a million steps take about a second, for which everybody waits.
	maxRuleSteps = 1_000_000
	// usualLength is how many elements an attribute is taken to have.
	usualLength = 25
	// stepBytes is how much of a text is looked at in a step.
	stepBytes = 32
)

// growth bounds what an evaluation of a rule takes. Rules come from a file that somebody edits in a hurry; a few lines of
// them, loops within loops, could occupy the process for hours or all of its memory.
type growth struct {
	steps    int64 // values that are looked at
	length   int64 // elements of the lists that it may give
	recalled int   // how often a reduce's own result so far is asked for
	doubles  bool  // a reduce asks for it more than once
}

// and is what two parts of a rule take together.
func (g growth) and(other growth) growth {
	return growth{
		plus(g.steps, other.steps), plus(g.length, other.length), g.recalled + other.recalled, g.doubles || other.doubles,
	}
}

// of is what an operator takes with these arguments, of which g is the sum.
func (g growth) of(operator string, arguments node, parts []rule) growth {
	switch operator {
	case "var":
		g.length = usualLength
		if recalls(arguments) {
			g.recalled++
		}
	case "map", "filter", "reduce", "all", "none", "some":
		if len(parts) < 2 { // the arguments are an operation, which gives what nobody knows
			break
		}
		times, body := parts[0].length, parts[1].growth
		g.steps = plus(g.steps, product(times, body.steps))
		g.recalled -= body.recalled // a reduce's own; other loops do not see it
		switch operator {
		case "map", "filter":
			g.length = times
		case "reduce":
			g.length = plus(g.length, product(times, body.length))
			if body.recalled > 0 && len(parts) > 2 && mayGrow(parts[2]) { // by as much each time, which then is copied
				g.steps = plus(g.steps, product(times, product(times, body.steps)))
				g.doubles = g.doubles || body.recalled > 1
			}
		default:
			g.length = 0
		}
	case "if", "?:", "and", "or", "merge", "missing", "missing_some", "set": // give what they are given
	default:
		g.length = 0 // no list
	}
	return g
}

// mayGrow tells whether a reduce's result may be a text; it is of the type that its start has.
func mayGrow(start rule) bool {
	switch start.logic.(type) {
	case float64, bool:
		return false
	}
	return true
}

// recalls tells whether the name of a var may be that of a reduce's result so far.
func recalls(arguments node) bool {
	name := arguments
	if args, ok := arguments.value.([]node); ok {
		if len(args) == 0 {
			return true // everything
		}
		name = args[0]
	}
	text, literal := name.value.(string)
	return !literal || text == "" || text == "accumulator" || strings.HasPrefix(text, "accumulator.")
}

// bounded refuses an operator that takes too much.
func (r ruleReader) bounded(m member, grown growth) error {
	if grown.steps > maxRuleSteps {
		return r.wrong(m.nameLine, "%s would take more than %d steps by %s, evaluators included; want fewer or shorter loops",
			r.subject, maxRuleSteps, m.name)
	}
	if grown.doubles {
		return r.wrong(m.nameLine, "%s asks for the accumulator of a reduce more than once, which doubles it each time; want it once",
			r.subject)
	}
	return nil
}

// plus and product are of what is not negative; what is too great is the greatest number.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func product(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
