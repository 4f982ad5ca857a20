package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// data are real logs with the results that others have computed from them, in exact arithmetic.
const data = "../../../shared/data"

// truth is what is known of a log.
type truth struct {
	File     string
	Requests int64
	Skipped  int64 `json:"skipped_lines"`
	Clients  int   `json:"distinct_clients"`
	Policies map[string]struct {
		InFileOrder figures `json:"file_order"`
		Sorted      figures `json:"sorted_by_time"`
	}
	Durations *struct {
		Peak int64 `json:"peak_concurrency_total"`
		Top  []struct {
			Client string
			Peak   int64
		} `json:"peak_concurrency_per_client_top5"`
	}
}

type figures struct {
	Denied        int64
	ClientsDenied int `json:"clients_denied"`
	Top           []struct {
		Client           string
		Denied, Requests int64
	} `json:"top5_denied"`
}

// replayed is what the program prints with -json.
func replayed(t *testing.T, args ...string) (r result) {
	t.Helper()
	var out, progress bytes.Buffer
	require.NoError(t, run(context.Background(), append([]string{"-json"}, args...), bytes.NewReader(nil), &out, &progress))
	require.Empty(t, progress.String(), "a pipe gets no progress bar")
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	return r
}

// TestRealLogs replays real logs by both clocks and compares with what is known of them.
func TestRealLogs(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(data, "*", "TRUTH.json"))
	require.NoError(t, err)
	if len(folders) == 0 {
		t.Skip("skipped: no real logs in " + data + "; they are not part of the repository")
	}
	require.Len(t, folders, 6)
	for _, file := range folders {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var want truth
		require.NoError(t, json.Unmarshal(text, &want))
		logs, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.gz"))
		require.NoError(t, err)
		require.NotEmpty(t, logs)
		for _, log := range logs {
			t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(log), func(t *testing.T) {
				t.Parallel()
				want.holds(t, log)
			})
		}
	}
}

func (want *truth) holds(t *testing.T, log string) {
	for policy, flags := range map[string][]string{
		"token_bucket_r1_b10":    {"-rate", "1/s", "-burst", "10"},
		"sliding_log_60_per_60s": {"-limit", "60", "-window", "60s"},
	} {
		known, ok := want.Policies[policy]
		require.True(t, ok, policy)
		for order, f := range map[string]figures{"file": known.InFileOrder, "sorted": known.Sorted} {
			got := replayed(t, append(flags, "-order", order, "-top", "5", log)...)
			assert.Equal(t, want.Requests, got.Requests)
			assert.Equal(t, want.Skipped, got.BadLines)
			assert.Equal(t, want.Clients, got.Callers)
			assert.Zero(t, got.Late, "%s, %s", policy, order)
			p := got.Policies[0]
			assert.Equal(t, f.Denied, p.Refused, "%s, %s", policy, order)
			assert.Equal(t, f.ClientsDenied, p.CallersRefused, "%s, %s", policy, order)
			require.Len(t, p.Top, len(f.Top), "%s, %s", policy, order)
			for i, c := range f.Top {
				assert.Equal(t, callerResult{c.Client, c.Denied, c.Requests, p.Top[i].Enough}, p.Top[i], "%s, %s", policy, order)
			}
			want.inFlight(t, got.InFlight)
		}
	}
}

func (want *truth) inFlight(t *testing.T, got *flightResult) {
	if want.Durations == nil {
		assert.Nil(t, got)
		return
	}
	require.NotNil(t, got)
	assert.Equal(t, want.Durations.Peak, got.Peak)
	require.GreaterOrEqual(t, len(got.Top), len(want.Durations.Top))
	for i, c := range want.Durations.Top {
		assert.Equal(t, peakResult{c.Client, c.Peak}, got.Top[i])
	}
}
