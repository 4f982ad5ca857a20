package flags

import (
	"encoding/json"
	"fmt"
	"strings"
)

// What a rule may grow to, evaluators that it refers to included. Nobody writes such rules by hand; a few short
// evaluators that refer to each other could otherwise grow to any size.
const (
	maxRuleNodes  = 100_000
	maxRuleLevels = 200 // an operator is one level, the list of its arguments another, a reference a third
)

// rule is a targeting as jsonlogic takes it: what encoding/json would make of it, but references replaced by
// what they refer to and flagd's operators under our names. Evaluations share it, so it is never changed.
type rule struct {
	logic  any
	nodes  int
	levels int // below the outermost one
	growth
}

// sharedRule is one of the $evaluators: a rule that others refer to by name.
type sharedRule struct {
	member
	reading bool // while what it refers to is read: who meets it then has come round in a circle
	read    bool
	rule    rule
}

// ruleReader turns the rules of one flag, or of one evaluator, into what is evaluated.
type ruleReader struct {
	flagFile
	subject    string // what the rules are of, for errors
	evaluators map[string]*sharedRule
	chain      int // how many evaluators wait for this one to be read
}

// readEvaluators returns the evaluators of a file.
func (p flagFile) readEvaluators(all member) (map[string]*sharedRule, error) {
	members, ok := all.value.([]member)
	if !ok {
		return nil, p.wrong(all.line, "$evaluators is %s; want an object with a property for each rule", all.kind())
	}
	evaluators := make(map[string]*sharedRule, len(members))
	for _, m := range members {
		if _, ok := m.value.([]member); !ok {
			return nil, p.wrong(m.line, "evaluator %q is %s; want an object with one operator", m.name, m.kind())
		}
		evaluators[m.name] = &sharedRule{member: m}
	}
	for _, m := range members {
		if err := p.readEvaluator(evaluators[m.name], evaluators, 0); err != nil {
			return nil, err
		}
	}
	return evaluators, nil
}

func (p flagFile) readEvaluator(e *sharedRule, all map[string]*sharedRule, chain int) (err error) {
	if e.read {
		return nil
	}
	e.reading = true
	r := ruleReader{flagFile: p, subject: fmt.Sprintf("evaluator %q", e.name), evaluators: all, chain: chain}
	e.rule, err = r.rule(e.node, 0)
	e.reading, e.read = false, true
	return err
}

// rule reads n, which is that many levels deep.
func (r ruleReader) rule(n node, level int) (rule, error) {
	if level > maxRuleLevels {
		return rule{}, r.tooDeep(n.line)
	}
	switch v := n.value.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return rule{}, r.wrong(n.line, "%s has the number %.64s; want one that a float64 can hold", r.subject, v)
		}
		return leaf(f), nil
	case []node:
		return r.list(v, n.line, level)
	case []member:
		if len(v) != 1 {
			return rule{}, r.wrong(n.line, "%s has an object with %d properties; want exactly one, an operator",
				r.subject, len(v))
		}
		return r.operation(v[0], level)
	}
	return leaf(n.value), nil
}

func leaf(value any) rule {
	read := rule{logic: value, nodes: 1, growth: growth{steps: 1}}
	if text, ok := value.(string); ok {
		read.steps += int64(len(text) / stepBytes)
	}
	return read
}

func (r ruleReader) list(elements []node, line, level int) (rule, error) {
	all, _, err := r.parts(elements, line, level)
	all.length = plus(all.length, int64(len(elements)))
	return all, err
}

// parts reads the elements of a list, and returns it and each of them.
func (r ruleReader) parts(elements []node, line, level int) (all rule, parts []rule, err error) {
	list := make([]any, len(elements))
	all, parts = leaf(list), make([]rule, len(elements))
	for i, e := range elements {
		if parts[i], err = r.rule(e, level+1); err != nil {
			return rule{}, nil, err
		}
		if list[i], err = r.add(&all, line, parts[i]); err != nil {
			return rule{}, nil, err
		}
	}
	return all, parts, nil
}

// add makes part one of the parts of a rule, and returns its logic.
func (r ruleReader) add(to *rule, line int, part rule) (any, error) {
	to.nodes += part.nodes
	to.levels = max(to.levels, part.levels+1)
	to.growth = to.and(part.growth)
	if to.nodes > maxRuleNodes {
		return nil, r.wrong(line, "%s has more than %d values, those of its evaluators included; want fewer",
			r.subject, maxRuleNodes)
	}
	return part.logic, nil
}

func (r ruleReader) operation(m member, level int) (rule, error) {
	if m.name == "$ref" {
		return r.reference(m, level)
	}
	name := m.name
	own, isOwn := ownOperators[name]
	want, known := arguments[name]
	switch {
	case name == "fractionalEvaluation":
		return rule{}, r.wrong(m.nameLine, "%s has the operator %q, which flagd gave up; want fractional", r.subject, name)
	case !known:
		return rule{}, r.wrong(m.nameLine, "%s has an unknown operator %q; want one of JSONLogic or flagd", r.subject, name)
	case isOwn:
		name = own
	}
	if err := r.count(m, want); err != nil {
		return rule{}, err
	}
	if err := r.literals(m); err != nil {
		return rule{}, err
	}
	arguments := m.node
	var shares *distribution
	if m.name == "fractional" {
		seed, d, err := r.distribution(m)
		if err != nil {
			return rule{}, err
		}
		arguments, shares = node{line: m.line, value: []node{seed}}, d
	}
	read, grown, err := r.arguments(m.name, arguments, level+1)
	if err != nil {
		return rule{}, err
	}
	if err := r.bounded(m, grown); err != nil {
		return rule{}, err
	}
	if shares != nil {
		read.logic = append(read.logic.([]any), shares)
	}
	all := rule{nodes: 1}
	logic, err := r.add(&all, m.line, read)
	all.logic, all.growth = map[string]any{name: logic}, grown
	return all, err
}

// arguments reads those of an operator, and returns what it can grow to.
func (r ruleReader) arguments(operator string, n node, level int) (read rule, grown growth, err error) {
	elements, ok := n.value.([]node)
	if !ok {
		read, err = r.rule(n, level)
		return read, read.of(operator, n, []rule{read}), err
	}
	read, parts, err := r.parts(elements, n.line, level)
	return read, read.of(operator, n, parts), err
}

// reference returns the rule of the evaluator that m names.
func (r ruleReader) reference(m member, level int) (rule, error) {
	name, ok := m.value.(string)
	if !ok {
		return rule{}, r.wrong(m.line, "%s has a $ref that is %s; want the name of an evaluator", r.subject, m.kind())
	}
	e := r.evaluators[name]
	switch {
	case e == nil:
		return rule{}, r.wrong(m.line, "%s refers to %q; want the name of one of the $evaluators", r.subject, name)
	case e.reading:
		return rule{}, r.wrong(m.line, "%s refers to %q, which comes back to itself; want no circle", r.subject, name)
	}
	if r.chain == maxRuleLevels {
		return rule{}, r.tooDeep(m.line)
	}
	if err := r.readEvaluator(e, r.evaluators, r.chain+1); err != nil {
		return rule{}, err
	}
	levels := e.rule.levels + 1
	if level+levels > maxRuleLevels {
		return rule{}, r.tooDeep(m.line)
	}
	return rule{logic: e.rule.logic, nodes: e.rule.nodes, levels: levels, growth: e.rule.growth}, nil
}

func (r ruleReader) tooDeep(line int) error {
	return r.wrong(line, "%s is more than %d levels deep, evaluators included; want a flatter rule", r.subject, maxRuleLevels)
}

// literals refuses arguments that are written out and that flagd's operators can do nothing with.
func (r ruleReader) literals(m member) error {
	args, _ := m.value.([]node)
	switch m.name {
	case "var":
		return r.attribute(m)
	case "starts_with", "ends_with":
		for _, a := range args {
			if _, ok := a.value.(string); !ok && !isOperation(a) {
				return r.wrong(a.line, "%s compares by %s with %s; want strings", r.subject, m.name, a.kind())
			}
		}
	case "sem_ver":
		for i, a := range args {
			text, ok := a.value.(string)
			switch {
			case isOperation(a):
			case i == 1 && !isVersionOperator(text):
				return r.wrong(a.line, "%s compares versions by %s; want %s",
					r.subject, a.text(), strings.Join(versionOperators(), ", "))
			case i != 1 && (!ok || !isVersion(text)):
				return r.wrong(a.line, "%s has the version %s; want one like 1.2.3", r.subject, a.text())
			}
		}
	}
	return nil
}

// attribute refuses a name that begins with $flagd. and that flagd does not give.
func (r ruleReader) attribute(m member) error {
	name := m.node
	if args, ok := m.value.([]node); ok && len(args) > 0 {
		name = args[0]
	}
	switch text, _ := name.value.(string); {
	case !strings.HasPrefix(text, "$flagd."), text == "$flagd.flagKey", text == "$flagd.timestamp":
		return nil
	default:
		return r.wrong(name.line, "%s asks for %q; want $flagd.flagKey or $flagd.timestamp", r.subject, text)
	}
}
