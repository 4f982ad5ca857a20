package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBadFlagsAreNamed(t *testing.T) {
	for args, want := range map[string][]string{
		"-no-such-flag":                     {"-no-such-flag"},
		"surplus":                           {`"surplus"`},
		"-api 127.0.0.1:8080":               {"-api", "127.0.0.1:8080", "http://"},
		"-api ftp://host":                   {"-api", "ftp://host", "http://"},
		"-api http://":                      {"-api", `"http://"`},
		"-redis 127.0.0.1:6379":             {"-redis", "redis://"},
		"-redis redis://":                   {"-redis", "host"},
		"-redis redis://127.0.0.1:99999":    {"-redis", "99999"},
		"-workers 0":                        {"-workers", "0", "1 to 64"},
		"-workers -1":                       {"-workers", "-1", "1 to 64"},
		"-workers 65 -redis redis://host:1": {"-workers", "65", "1 to 64"},
		"-workers two":                      {"-workers", "two"},
		"-workers 2":                        {"-workers", "2", "-redis"},
		"-units 0 -searches 0":              {"-units", "0", "1 to 1000000000"},
		"-units -3":                         {"-units", "-3"},
		"-units 2000000000":                 {"-units", "2000000000", "1 to 1000000000"},
		"-units 99":                         {"-units", "99", "100"},
		"-units 1e4":                        {"-units", "1e4"},
		"-rate 0":                           {"-rate", "0 per", "at least 1"},
		"-rate -1":                          {"-rate", "-1", "at least 1"},
		"-rate 2000000":                     {"-rate", "2000000", "1000000"},
		"-zone=":                            {"-zone", `""`, "America/Los_Angeles"},
		"-zone Local":                       {"-zone", "Local", "America/Los_Angeles"},
		"-zone Pacific":                     {"-zone", "Pacific", "America/Los_Angeles"},
		"-searches 1.1":                     {"-searches", "1.1", "0 to 1"},
		"-searches -0.1":                    {"-searches", "-0.1", "0 to 1"},
		"-searches NaN":                     {"-searches", "NaN", "0 to 1"},
		"-wait=perhaps":                     {"-wait", "perhaps"},
	} {
		t.Run(args, func(t *testing.T) {
			_, err := parse(strings.Fields(args), &output{})
			require.Error(t, err)
			for _, part := range want {
				assert.ErrorContains(t, err, part)
			}
		})
	}
}

func TestThePasswordIsNotShown(t *testing.T) {
	for _, url := range []string{"redis://:s3cret@host:bad/0", "redis://:s3cret%zz@host/0", "user:s3cret@host"} {
		_, err := parse([]string{"-redis", url}, &output{})
		require.ErrorContains(t, err, "-redis")
		assert.NotContains(t, err.Error(), "s3cret")
	}
}

func TestFlagsMean(t *testing.T) {
	o, err := parse(nil, &output{})
	require.NoError(t, err)
	assert.Equal(t, "fixed window of 10000, daily at 0s in America/Los_Angeles", o.daily().Quota.String())
	assert.Equal(t, "token bucket of 10, 100 per 1s", o.speed().Quota.String())
	o, err = parse(strings.Fields("-units 7 -searches 0 -rate 9 -zone Asia/Tokyo -wait -api https://host/v3/ -redis rediss://host:1 -workers 64"), &output{})
	require.NoError(t, err)
	assert.Equal(t, "fixed window of 7, daily at 0s in Asia/Tokyo", o.daily().Quota.String())
	assert.Equal(t, "token bucket of 1, 9 per 1s", o.speed().Quota.String())
	assert.True(t, o.wait)
	assert.Equal(t, "https://host/v3", o.api)
	assert.Equal(t, "host:1", o.redis.Addr)
}

func TestExitCodes(t *testing.T) {
	for args, code := range map[string]int{"-h": 0, "-api http://127.0.0.1:1 -workers 3": 2} {
		p := start(t, strings.Fields(args)...)
		err := p.wait()
		if code == 0 {
			assert.NoError(t, err)
			continue
		}
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		assert.Equal(t, code, exit.ExitCode(), args)
		assert.Contains(t, p.out.String(), "outbound: flag -")
	}
}

func TestItRunsWithNothingInstalled(t *testing.T) {
	t.Parallel()
	began := time.Now()
	p := start(t, "-units", "3000", "-rate", "1000") // the default takes three seconds
	require.NoError(t, p.wait())
	assert.Contains(t, p.out.String(), "outbound: spent: ")
	said := lines(p.out.String())
	assert.Regexp(t, `^outbound: the API counted \d+ calls and charged 29\d\d units$`, said[len(said)-1])
	t.Logf("%v: %s", time.Since(began), said[len(said)-1])
}
