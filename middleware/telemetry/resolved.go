package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seawall-go/seawall"
)

// counters are the resolved metrics of one policy.
type counters struct {
	byMode [2][4]prometheus.Counter // by mode and outcome; a mode has one kind of refusal
	asked  [2]prometheus.Counter    // by mode
	took   *duration
	logged [2]sampler // by mode
}

// resolved are the metrics that were needed so far, since to look one up by its labels takes longer than to count.
type resolved struct {
	mu       sync.Mutex
	limits   readMostly[*seawall.Limit, *counters] // at most maxLimits; several may be of one name
	policies map[string]*counters                  // by "layer:policy"
	gauges   readMostly[string, prometheus.Gauge]  // by layer
}

// readMostly is a map that is read without a lock: it is replaced to be changed. The zero readMostly is empty.
type readMostly[K comparable, V any] struct{ is atomic.Pointer[map[K]V] }

// all is what there is now. It must not be changed.
func (m *readMostly[K, V]) all() map[K]V {
	if all := m.is.Load(); all != nil {
		return *all
	}
	return nil
}

// put adds a value, or replaces one. Callers hold a lock.
func (m *readMostly[K, V]) put(k K, v V) {
	next := map[K]V{}
	maps.Copy(next, m.all())
	next[k] = v
	m.is.Store(&next)
}

// maxLimits bounds how many limits are found without a lock. A process that makes new ones all the time has only a few
// names for them.
const maxLimits = 512

// counters returns the metrics of a policy. There are as many as there are policies.
func (t *Telemetry) counters(l *seawall.Limit) *counters {
	if known := t.resolved.limits.all()[l]; known != nil {
		return known
	}
	return t.resolve(l)
}

// countersOf returns those of an event. One that no engine has made may lack the limit.
func (t *Telemetry) countersOf(e *seawall.Event) *counters {
	if e.Limit != nil {
		return t.counters(e.Limit)
	}
	t.resolved.mu.Lock()
	defer t.resolved.mu.Unlock()
	return t.named(e.Layer, e.Policy)
}

func (t *Telemetry) resolve(l *seawall.Limit) *counters {
	r := &t.resolved
	r.mu.Lock()
	defer r.mu.Unlock()
	c := t.named(l.Layer(), l.Policy())
	if len(r.limits.all()) < maxLimits {
		r.limits.put(l, c)
	}
	return c
}

// named returns the metrics of a policy by its name, new ones at first. It is called under the lock.
func (t *Telemetry) named(layer, policy string) *counters {
	r, name := &t.resolved, layer+":"+policy
	c := r.policies[name]
	if c == nil {
		c = t.newCounters(layer, policy)
		if r.policies == nil {
			r.policies = map[string]*counters{}
		}
		r.policies[name] = c
	}
	return c
}

func (t *Telemetry) newCounters(layer, policy string) *counters {
	made := &counters{took: t.took.with(layer)}
	for mode, refusal := range []seawall.Outcome{seawall.Enforce: seawall.Denied, seawall.LogOnly: seawall.WouldDeny} {
		for _, outcome := range []seawall.Outcome{seawall.Allowed, refusal, seawall.Skipped} {
			made.byMode[mode][outcome] = t.decisions.WithLabelValues(
				layer, policy, seawall.Mode(mode).String(), outcome.String())
		}
		made.asked[mode] = t.checks.WithLabelValues(layer, policy, seawall.Mode(mode).String())
	}
	return made
}

// gauge returns that of a layer.
func (t *Telemetry) gauge(layer string) prometheus.Gauge {
	r := &t.resolved
	if known := r.gauges.all()[layer]; known != nil {
		return known
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	g := t.inflight.WithLabelValues(layer)
	r.gauges.put(layer, g)
	return g
}
