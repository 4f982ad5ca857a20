package guard

import (
	"slices"
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

// policy is what RateLimit-Policy says of one policy: q and w.
type policy struct {
	limit         *seawall.Limit
	quota, window int64
}

// policyText is the field of some policies. It is never changed.
type policyText struct {
	policies []policy
	text     string
}

// policyTexts remembers fields, of which there are few: they change with routes, plans and configurations only. What is
// wanted last takes the place of another.
type policyTexts [64]atomic.Pointer[policyText]

func (t *policyTexts) of(policies []policy) string {
	mixed := uint64(0)
	for i := range policies {
		p := &policies[i]
		mixed = (mixed ^ uint64(p.quota)<<32 ^ uint64(p.window) ^ uint64(len(p.limit.Policy()))<<56) * 0x9e3779b97f4a7c15
	}
	place := &t[mixed>>58]
	if known := place.Load(); known != nil && slices.Equal(known.policies, policies) {
		return known.text
	}
	var b []byte
	for i := range policies {
		if i > 0 {
			b = append(b, ", "...)
		}
		p := &policies[i]
		b = appendItem(b, p.limit.Policy(), 'q', p.quota, 'w', p.window)
	}
	made := &policyText{slices.Clone(policies), string(b)}
	place.Store(made)
	return made.text
}
