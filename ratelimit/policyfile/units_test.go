package policyfile_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/ratelimit/policyfile"
)

func TestWhatIsNoRate(t *testing.T) {
	t.Parallel()
	for _, rate := range []string{
		"10", "/s", "10/", "/", "10/s/s", "10/sec", "10 / s", "10/1", "1e3/s", "+1/s", "-1/s", "1./s", ".5/s", "1_0/s", "0/s", "0.0/s",
		"1/0s", "1/-1s", "1/d1", "1/1d-1h", "1/1dx", "1/-1d", "1/65535d2000000h", "1/100000d", "1000001/s", "1/31d", "0.000000385/s",
		"0.000000000000000001/300d", "1234567890123456789/s", "0.1234567890123456789/s", "１/s",
	} {
		_, err := policyfile.Parse("p.yaml", []byte(one(fmt.Sprintf("bucket: {rate: %q, burst: 1}", rate))))
		require.Error(t, err, rate)
		assert.Contains(t, err.Error(), fmt.Sprintf(`p.yaml:4: policy "api": bucket.rate is %q; want a rate from 1/30d to 1000000/s`, rate))
	}
}

func TestWhatIsNoDuration(t *testing.T) {
	t.Parallel()
	for _, d := range []string{"", "1", "m", "d", "1d1", "1dd", "-1d", "1.5d", "1d-1s", "1w", "1 d", "65536d", "106751d24h", "99999999h"} {
		_, err := policyfile.Parse("p.yaml", []byte(one(fmt.Sprintf("log: {limit: 1, window: %q}", d))))
		assert.EqualError(t, err, fmt.Sprintf(`p.yaml:4: policy "api": log.window is %q; want a duration such as 1m, 24h or 30d`, d))
	}
}

func TestManyAlternativesAreNotAllListed(t *testing.T) {
	t.Parallel()
	text := one("plans:") + many(30, func(i int) string { return fmt.Sprintf("      p%02d: {bucket: {rate: 1/s, burst: 1}}\n", i) })
	_, err := policyfile.Parse("p.yaml", []byte(text+"    overrides: [{caller: a, plan: something}]\n"))
	assert.EqualError(t, err, `p.yaml:36: policy "api": overrides[0].plan is "something"; want `+
		"allow, block, p00, p01, p02, p03, p04, p05, p06, p07, p08, p09, p10, p11, p12 or p13 and so on")
}
