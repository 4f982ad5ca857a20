package accesslog_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

// truth is what is known of a log by independent means. The names are those of its file.
type truth struct {
	Lines       int64
	Requests    int64
	Skipped     int64   `json:"skipped_lines"`
	SkippedAt   []int64 `json:"skipped_line_numbers_first20"`
	Clients     int     `json:"distinct_clients"`
	First       int64   `json:"first_epoch"`
	Last        int64   `json:"last_epoch"`
	OutOfOrder  int64   `json:"out_of_order_lines"`
	StepBack    int64   `json:"max_backward_step_s"`
	TopRequests []struct {
		Client   string
		Requests int64
	} `json:"top5_clients"`
}

func TestRealLogs(t *testing.T) {
	t.Parallel()
	data, err := filepath.Abs("../../../../shared/data")
	require.NoError(t, err)
	if _, err := os.Stat(data); err != nil {
		t.Skip("the real logs are not here; want them in ../shared/data, beside the repository")
	}
	for name, format := range map[string]string{
		"elastic-nginx/access.log.gz":              "combined",
		"elastic-nginx-json/access.json.gz":        "nginx-json",
		"apache-13y/access.log.gz":                 "combined",
		"haproxy-gateway/haproxy.log.gz":           "haproxy",
		"haproxy-gateway/derived.traefik.jsonl.gz": "traefik",
		"erddap-nginx/access.log.gz":               "combined",
		"traefik-lab/access.jsonl.gz":              "traefik",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(data, name)
			text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "TRUTH.json"))
			require.NoError(t, err)
			var want truth
			require.NoError(t, json.Unmarshal(text, &want))
			compare(t, file, format, &want)
		})
	}
}

func compare(t *testing.T, file, format string, want *truth) {
	log, err := accesslog.Open(file, nil, accesslog.Options{})
	require.NoError(t, err)
	defer log.Close()
	assert.Equal(t, format, log.Format())
	got := truth{First: math.MaxInt64, SkippedAt: []int64{}}
	clients := map[string]int64{}
	physical, before := int64(0), int64(0) // no line of these logs is empty
	var e accesslog.Entry
	for log.Next(&e) {
		for physical++; physical < log.Lines(); physical++ {
			if len(got.SkippedAt) < 20 {
				got.SkippedAt = append(got.SkippedAt, physical)
			}
		}
		second := e.Start / 1e9
		got.First, got.Last = min(got.First, second), max(got.Last, second)
		if second < before {
			got.OutOfOrder++
		}
		before = second
		got.Requests++
		clients[string(e.Address)]++
	}
	require.NoError(t, log.Err())
	got.Lines, got.Clients = log.Lines(), len(clients)
	var bad []accesslog.BadLine
	got.Skipped, bad = log.Bad()
	require.Len(t, bad, min(5, len(want.SkippedAt)), bad)
	for i, b := range bad {
		assert.Equal(t, want.SkippedAt[i], b.Number, b)
	}
	for _, top := range want.TopRequests {
		assert.Equal(t, top.Requests, clients[top.Client], top.Client)
	}
	read, size := log.Position()
	assert.Equal(t, size, read)
	got.TopRequests, got.OutOfOrder, got.StepBack = want.TopRequests, want.OutOfOrder, want.StepBack
	assert.Equal(t, *want, got)
}
