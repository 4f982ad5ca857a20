package main

import (
	"math"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// needed finds the smallest burst, at the policy's rate, that would let all requests of a caller through; of a fixed window its
// limit. A bucket that lends without end owes the cost of each request until it has refilled: the most that it ever owes is the
// burst that is needed. Of sliding windows it is not known: it would take the time of every request.
type needed struct {
	last int64 // nanoseconds: the latest request; of a fixed window when the window ends
	owed int64 // nanoseconds of refill; of a fixed window units
	most int64 // units
}

// left is how much of a fixed window is left: what its rule says of a unit that was spent just now. The answer to the request
// itself does not tell it while nothing is spent, as when the cost is above the limit or another policy has refused.
func left(rule ratelimit.Rule, now int64) int64 {
	var res seawall.Result
	if s, ok := rule.(seawall.Stepper); ok {
		s.Tell(&res, 0, now, true, &seawall.Check{Cost: 1})
	}
	return int64(res.ResetAfter)
}

// see takes in a request.
func (n *needed) see(now int64, c *seawall.Check) {
	rule, ok := c.Rule.(ratelimit.Rule)
	if !ok {
		return
	}
	switch rule.Kind() {
	case "bucket":
		token := int64(rule.Window()) / rule.Limit()
		n.owed = max(0, n.owed-(now-n.last))
		n.last = now
		if c.Cost > (math.MaxInt64-n.owed)/token {
			n.owed = math.MaxInt64
		} else {
			n.owed += c.Cost * token
		}
		n.most = max(n.most, (n.owed-1)/token+1)
	case "window":
		if now >= n.last {
			n.last, n.owed = now+left(rule, now), 0
		}
		n.owed += c.Cost
		n.most = max(n.most, n.owed)
	}
}

// portion is how many of the callers a share is, rounded down. A share such as 0.57 is a little less as a float.
func portion(share float64, callers int) int { return int(share*float64(callers) + 1e-6) }

// sufficient is the smallest of the bursts, which are in order, that refuses at most so many callers anything; 0 if there is none.
func sufficient(bursts []int64, refused int) int64 {
	if len(bursts) == 0 {
		return 0
	}
	if refused >= len(bursts) {
		return 1
	}
	return max(1, bursts[len(bursts)-1-refused])
}
