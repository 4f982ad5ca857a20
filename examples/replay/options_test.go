package main

import (
	"bytes"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptions(t *testing.T) {
	o, err := readOptions(strings.Fields("-rate 10/s -burst 20 -order file -share 0.5 -top 3 -tick 1ms -in-flight 7 a b.gz"), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b.gz"}, o.logs)
	assert.Equal(t, "token bucket of 20, 10 per 1s", o.policies[0].Quota.String())
	assert.Equal(t, inFileOrder, o.order)
	assert.Equal(t, time.Millisecond, o.tick)
	assert.InDelta(t, 0.5, o.share, 0)
	assert.EqualValues(t, 7, o.inFlight)

	o, err = readOptions(strings.Fields("-rate 0.5 -burst 2 a"), nil)
	require.NoError(t, err)
	assert.Equal(t, "token bucket of 2, 1 per 2s", o.policies[0].Quota.String())
	o, err = readOptions(strings.Fields("-limit 60 -window 60 a"), nil)
	require.NoError(t, err)
	assert.Equal(t, "sliding log of 60 per 1m0s", o.policies[0].Quota.String())
	assert.Equal(t, sorted, o.order)
}

func TestBadOptionsAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"":                                      "no logs",
		"a":                                     "nothing to replay",
		"-rate 1 a":                             "-burst",
		"-burst 1 a":                            "-rate",
		"-limit 1 a":                            "-window",
		"-rate 1 -burst 1 -limit 1 -window 1 a": "more than one",
		"-policy x -rate 1 -burst 1 a":          "more than one",
		"-policy no-such-file a":                "no-such-file",
		"-rate x -burst 1 a":                    "bucket.rate",
		"-rate 1 -burst 0 a":                    "bucket.burst is 0",
		"-rate 1 -burst {} a":                   "burst",
		"-rate 1 -burst #1 a":                   "want plain numbers",
		"-limit 1 -window 1x a":                 "log.window",
		"-rate 1 -burst 1 -order up a":          "-order",
		"-rate 1 -burst 1 -reorder -1s a":       "-reorder",
		"-rate 1 -burst 1 -tick 0s a":           "-tick",
		"-rate 1 -burst 1 -top -1 a":            "-top",
		"-rate 1 -burst 1 -share 2 a":           "-share",
		"-rate 1 -burst 1 -share NaN a":         "-share",
		"-rate 1 -burst 1 -format apache a":     "combined",
		"-rate 1 -burst 1 -caller me a":         "-caller",
		"-rate 1 -burst 1 -in-flight -1 a":      "-in-flight",
		"-rate 1 -burst 1 -":                    "",
		"-rate 1 -burst 1 - -":                  "twice",
		"a -rate 1 -burst 1":                    "want all flags before the logs",
		"-rate 1 -burst 1 a -json":              `"-json"`,
		"-rate 1 -burst x a":                    "-burst: policy",
		"-nonsense":                             "nonsense",
	} {
		_, err := readOptions(strings.Fields(args), nil)
		if want == "" {
			assert.NoError(t, err, args)
			continue
		}
		assert.ErrorContains(t, err, want, args)
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	_, err := readOptions([]string{"-help"}, &out)
	require.ErrorIs(t, err, flag.ErrHelp)
	assert.Contains(t, out.String(), "usage: replay [flags] (-policy FILE | -rate R -burst B | -limit N -window DURATION) LOG...")
	assert.Contains(t, out.String(), "-reorder")
}
