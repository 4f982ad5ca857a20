package report

import (
	"time"
)

// Report is what one or several instances have seen of refusals.
type Report struct {
	// Since is when counting began, and Until when the report was made.
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Instances are those whose requests the report is of, each by a random name, and Fleet is how many shared the store
	// when it was made; zero is not known.
	Instances []string `json:"instances"`
	Fleet     int64    `json:"fleet,omitempty"`
	// Policies are those that a request has met, by layer and name.
	Policies []Policy `json:"policies"`
}

// Policy is what one policy of one layer has done. A local layer has one policy, which stands for it.
type Policy struct {
	Layer string `json:"layer"`
	Name  string `json:"policy"`
	// Rule is the arithmetic that refused last, in words; empty if it refused nothing.
	Rule string `json:"rule,omitempty"`
	// Requests is how many it was asked about, and LogOnly how many of them in log-only mode.
	Requests int64 `json:"requests"`
	LogOnly  int64 `json:"log_only"`
	// Refused and WouldRefuse are how many requests it refused first: enforced, or in log-only mode. A request is counted
	// at most once among all Refused, and once among all WouldRefuse. What a policy of the same layer refuses in earnest is
	// that one's alone: a log-only limit beside it would have changed nothing.
	Refused     int64 `json:"refused"`
	WouldRefuse int64 `json:"would_refuse"`
	// Alone is how many of both were decided without the store, by this instance's share of the limit: in an outage callers
	// may be refused what they were entitled to.
	Alone int64 `json:"alone,omitempty"`
	// Unavailable is how many more it refused, or would have, because it fails closed and the store could not be asked.
	// They are nobody's fault and in none of the other counts.
	Unavailable int64 `json:"unavailable,omitempty"`
	// First and Last are when; zero if never.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// PeakPerSecond is the most of both in any second of the clock. Of several instances it is the sum, so at most that.
	PeakPerSecond int64 `json:"peak_per_second"`
	// Routes are where, the most refused first.
	Routes []Route `json:"routes"`
	// Callers are who, the most refused first, and Places for how many there is room.
	Callers []Caller `json:"callers"`
	Places  int64    `json:"places"`
	// UnlistedAtMost is how many refusals a caller who is not among Callers has at most.
	UnlistedAtMost int64 `json:"unlisted_at_most"`
}

// Route counts the refusals of requests of one route and tier.
type Route struct {
	// Route is the pattern; "" is requests that matched none, "(others)" are all beyond the first 256.
	Route       string `json:"route"`
	Tier        string `json:"tier"`
	Refused     int64  `json:"refused"`
	WouldRefuse int64  `json:"would_refuse"`
}

// Caller is one caller that a policy has, or would have, refused. All but Count and Error is what was seen since First,
// when the caller came into the list.
type Caller struct {
	// ID is seawall.Secret.CallerID, and Name seawall.Request.Name if the application gives one.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Count is how often it was refused or would have been: at most Count and at least Count - Error times.
	Count int64 `json:"count"`
	Error int64 `json:"error,omitempty"`
	// Refused and WouldRefuse are which of them were enforced, and which log-only.
	Refused     int64 `json:"refused"`
	WouldRefuse int64 `json:"would_refuse"`
	// Requests is how many the policy was asked about, and Cost what they cost.
	Requests int64 `json:"requests"`
	Cost     int64 `json:"cost"`
	// First and Last are when it was refused.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// PeakPerSecond is the most requests in any second of the clock. Of several instances it is the sum, so at most that.
	PeakPerSecond int64 `json:"peak_per_second"`
	// Limit is what the policy allows: a burst, what fits into a window, or a cap. PerSecond is the rate that it allows in the
	// long run; zero is none.
	Limit     int64   `json:"limit,omitempty"`
	PerSecond float64 `json:"per_second,omitempty"`
	// Enough is the smallest burst, limit of a fixed window or cap that would have let all requests through, as far as one
	// instance can tell; zero where that is not known. Of several instances it was about that to EnoughAtWorst, which is what
	// it was if they all had their worst moment at the same time. See the package documentation.
	Enough        int64 `json:"enough,omitempty"`
	EnoughAtWorst int64 `json:"enough_at_worst,omitempty"`
}

// mean is what the caller asked for each second since it was first refused; zero if that was but a moment.
func (c *Caller) mean() float64 {
	if span := c.Last.Sub(c.First); span >= time.Second {
		return float64(c.Cost) / span.Seconds()
	}
	return 0
}

// sustained tells that the caller asks faster than its rate in the long run, so that no burst is enough for good.
func (c *Caller) sustained() bool {
	return c.PerSecond > 0 && c.mean() > c.PerSecond && c.Last.Sub(c.First).Seconds() > 2*float64(c.Limit)/c.PerSecond
}

// refusals is both kinds together.
func (p *Policy) refusals() int64 { return p.Refused + p.WouldRefuse }

// find returns a policy of the report, nil if it is not in it.
func (r *Report) find(layer, policy string) *Policy {
	for i := range r.Policies {
		if p := &r.Policies[i]; p.Layer == layer && p.Name == policy {
			return p
		}
	}
	return nil
}
