package flags

import (
	"encoding/json"
	"math"

	"github.com/twmb/murmur3"
)

const targetingKey = "targetingKey"

// distribution gives every string one of some variants, each its share of them. The arithmetic is flagd's to
// the bit: who moves from one to the other has the same variants as before.
type distribution struct {
	variants []string
	ends     []float64 // of each variant's part of the range from 0 to 100
}

// variant is that of a seed; "", which names none, for three hashes of the four billion, as in flagd.
func (d *distribution) variant(seed string) string {
	hash := int32(murmur3.StringSum32(seed))
	bucket := math.Abs(float64(hash)) / math.MaxInt32 * 100
	for i, end := range d.ends {
		if bucket < end {
			return d.variants[i]
		}
	}
	return ""
}

// fractional is the operator. Its arguments are what ruleReader makes of them: the seed, nil if there is none,
// and the distribution.
func fractional(values, data any) any {
	args, _ := values.([]any)
	if len(args) != 2 {
		return nil
	}
	shares, ok := args[1].(*distribution)
	if !ok {
		return nil
	}
	seed, ok := args[0].(string)
	if !ok {
		if args[0] != nil { // flagd takes it for a share, and finds that it is none
			return nil
		}
		scope, _ := data.(map[string]any)
		key, ok := scope[targetingKey].(string)
		if !ok {
			return nil
		}
		given, _ := scope[flagdProperties].(map[string]any)
		flag, _ := given["flagKey"].(string)
		seed = flag + key
	}
	return shares.variant(seed)
}

// distribution reads the arguments of a fractional: the seed, null if there is none, and the shares.
func (r ruleReader) distribution(m member) (seed node, d *distribution, err error) {
	shares := m.value.([]node)
	seed = node{line: m.line}
	switch shares[0].value.(type) {
	case []node: // a share
	case []member, string, nil:
		seed, shares = shares[0], shares[1:]
	default:
		return seed, nil, r.wrong(shares[0].line, "%s: fractional buckets by %s; want an expression that gives a string",
			r.subject, shares[0].kind())
	}
	d = &distribution{}
	weights, total := make([]float64, len(shares)), 0.0
	for i, s := range shares {
		variant, weight, err := r.share(s)
		if err != nil {
			return seed, nil, err
		}
		d.variants = append(d.variants, variant)
		weights[i] = weight
		total += weight
	}
	if total == 0 {
		return seed, nil, r.wrong(m.line, "%s: the weights of fractional are all 0; want at least one that is more", r.subject)
	}
	end := 0.0
	for _, w := range weights {
		end += 100 * w / total
		d.ends = append(d.ends, end)
	}
	return seed, d, nil
}

// share reads [variant] or [variant, weight].
func (r ruleReader) share(n node) (variant string, weight float64, err error) {
	parts, ok := n.value.([]node)
	if !ok || len(parts) == 0 || len(parts) > 2 {
		return "", 0, r.wrong(n.line, "%s: a share of fractional is %s; want [variant] or [variant, weight]", r.subject, n.text())
	}
	variant, ok = parts[0].value.(string)
	if !ok {
		return "", 0, r.wrong(parts[0].line, "%s: the variant of a share of fractional is %s; want a string",
			r.subject, parts[0].kind())
	}
	if len(parts) == 1 {
		return variant, 1, nil
	}
	number, ok := parts[1].value.(json.Number)
	if ok {
		weight, err = number.Float64()
	}
	if !ok || err != nil || weight < 0 || weight != math.Trunc(weight) || weight > math.MaxInt32 {
		return "", 0, r.wrong(parts[1].line, "%s: the weight of %.64q is %s; want a whole number from 0 to %d",
			r.subject, variant, parts[1].text(), math.MaxInt32)
	}
	return variant, weight, nil
}
