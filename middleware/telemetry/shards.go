package telemetry

import "github.com/prometheus/client_golang/prometheus"

// sharded tells which shards of a store are given up, by name: as many as a Redis Cluster has masters.
type sharded interface{ Shards() map[string]bool }

// shards exports that, so that an alarm says which master to look at.
type shards struct {
	store sharded
	desc  *prometheus.Desc
}

func newShards(s sharded) shards {
	return shards{s, prometheus.NewDesc("seawall_shard_state",
		"Whether a shard of the shared store, such as a master of a Redis Cluster, is given up for now: 0 is closed, 1 is open.",
		[]string{"shard"}, nil)}
}

// Describe implements prometheus.Collector.
func (s shards) Describe(ch chan<- *prometheus.Desc) { ch <- s.desc }

// Collect implements prometheus.Collector.
func (s shards) Collect(ch chan<- prometheus.Metric) {
	for name, open := range s.store.Shards() {
		state := 0.0
		if open {
			state = 1
		}
		ch <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, state, name)
	}
}
