package flags

import (
	"encoding/json"
	"slices"
)

// maxOutcomes bounds the literals that are looked at for all flags of a file: many flags may refer to one large
// evaluator.
const maxOutcomes = 1_000_000

// outcomes refuses what a targeting can come to, as far as it is written out, if it names no variant: the
// branches of an if, the shares of a fractional, a comparison whose answer is neither "true" nor "false". n is
// a rule that has been read, so its arguments are as many as they should be.
func (r ruleReader) outcomes(n node, flag *fileFlag) error {
	if *r.outcomesSeen++; *r.outcomesSeen > maxOutcomes {
		return r.wrong(n.line, "the targeting of all flags comes to more than %d results, those of evaluators included; want fewer",
			maxOutcomes)
	}
	operations, ok := n.value.([]member)
	if !ok {
		return r.outcome(n, flag)
	}
	m := operations[0]
	args, _ := m.value.([]node)
	switch m.name {
	case "$ref":
		return r.outcomes(r.evaluators[m.value.(string)].node, flag)
	case "if", "?:":
		for i, a := range args {
			if i%2 == 1 || i == len(args)-1 {
				if err := r.outcomes(a, flag); err != nil {
					return err
				}
			}
		}
	case "fractional":
		for _, a := range args {
			if share, ok := a.value.([]node); ok {
				if err := r.outcome(share[0], flag); err != nil {
					return err
				}
			}
		}
	default:
		if slices.Contains(comparisons(), m.name) && !flag.has("true") && !flag.has("false") {
			return r.wrong(m.nameLine, `%s gives "true" or "false"; want one of the variants %s`, r.subject, flag.names())
		}
	}
	return nil
}

// outcome refuses a literal that names no variant. Null is fine: it stands for the defaultVariant.
func (r ruleReader) outcome(n node, flag *fileFlag) error {
	var name string
	switch v := n.value.(type) {
	case nil:
		return nil
	case string:
		name = v
	case bool, json.Number:
		name = n.text()
	default:
		return r.wrong(n.line, "%s gives %s; want one of the variants %s", r.subject, n.kind(), flag.names())
	}
	if !flag.has(name) {
		return r.wrong(n.line, "%s gives %.64q; want one of the variants %s", r.subject, name, flag.names())
	}
	return nil
}

// comparisons are the operators whose answer is a boolean; that of starts_with may be null.
func comparisons() []string {
	return []string{
		"==", "===", "!=", "!==", "<", "<=", ">", ">=", "!", "!!", "in", "all", "none", "some",
		"ends_with", "sem_ver",
	}
}
