package redisstore

import "github.com/seawall-go/seawall"

// limb is what scripts split large integers by.
const limb = 1_000_000_000_000_000

// answer is a script's reply: a mask of which checks admit, behind two bits that tell whether the enforced
// and the advisory checks committed, and for each check its observation in two limbs.
type answer []int64

func (a answer) ok(i int) bool { return a[0]>>(i+2)&1 == 1 }

func (a answer) observed(i int) int64 { return a[1+2*i]*limb + a[2+2*i] }

func (a answer) committed(c *seawall.Check) bool {
	if c.Advisory {
		return a[0]&2 != 0
	}
	return a[0]&1 != 0
}

// onlyLeasesRefuse tells whether asking again can help and cannot harm: nothing was committed, and all that
// refuse are leases, which other requests may be giving back at this moment.
func (a answer) onlyLeasesRefuse(checks []seawall.Check) bool {
	refused := false
	for i := range checks {
		if a.committed(&checks[i]) {
			return false
		}
		if a.ok(i) {
			continue
		}
		if _, ok := checks[i].Rule.(seawall.Holder); !ok {
			return false
		}
		refused = true
	}
	return refused
}
