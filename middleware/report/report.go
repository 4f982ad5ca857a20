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
	// Requests is how many it was asked about.
	Requests int64 `json:"requests"`
	// Refused and WouldRefuse are how many requests it refused first: enforced, or in log-only mode. A request is counted
	// once at most in each, whatever other policies mean.
	Refused     int64 `json:"refused"`
	WouldRefuse int64 `json:"would_refuse"`
	// First and Last are when; zero if never.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// PeakPerSecond is the most of both in any second of the clock. Of several instances it is the sum, so at most that.
	PeakPerSecond int64 `json:"peak_per_second"`
	// Routes are where, the most refused first.
	Routes []Route `json:"routes"`
	// Callers are who, the most refused first.
	Callers []Caller `json:"callers"`
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
	// Requests is how many the policy was asked about.
	Requests int64 `json:"requests"`
	// First and Last are when it was refused.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// PeakPerSecond is the most requests in any second of the clock. Of several instances it is the sum, so at most that.
	PeakPerSecond int64 `json:"peak_per_second"`
	// Limit is what the policy allows, and Enough the smallest burst, limit of a fixed window or cap that would have let
	// all requests through; see the package documentation. Enough is zero where that is not known.
	Limit  int64 `json:"limit,omitempty"`
	Enough int64 `json:"enough,omitempty"`
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
