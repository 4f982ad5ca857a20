package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// TestTwoInstancesOnACluster share each caller's limit, wherever it lies.
func TestTwoInstancesOnACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, 0)
	addrs := cluster.Addrs()
	url := fmt.Sprintf("redis://%s?read_timeout=5s&addr=%s&addr=%s", addrs[0], addrs[1], addrs[2])
	var all []*instance
	for range 2 {
		all = append(all, start(t, "-redis-mode", "cluster", "-redis", url, "-rate", "0.001", "-burst", "6", "-workers", "100"))
	}
	for caller := range 10 { // whose keys are at every master
		served := 0
		for k := range 12 {
			if all[k%2].get(t, "/v1/charges", fmt.Sprint("sk_live_", caller)).code == 200 {
				served++
			}
		}
		assert.Equal(t, 6, served, "caller %d", caller)
	}
	for _, m := range cluster.Masters {
		assert.Positive(t, scripts(t, m))
	}
	for _, i := range all {
		assert.Zero(t, i.metric(t, "seawall_inflight", ""))
		require.NoError(t, i.stop())
	}
}
