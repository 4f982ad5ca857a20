package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBadInputIsNamed(t *testing.T) {
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	broken := write("broken.json", "{\n  \"flags\": {\n    \"seawall-enabled\": {\"state\": \"ON\"}\n  }\n}\n")
	typo := write("typo.json", "{\"flags\": {\n\"seawall-ratelimit-mode\": {\"state\": \"ENABLED\", \"variants\": {\"v\": \"enforcee\"}, \"defaultVariant\": \"v\"}}}")
	policy := write("policy.json", "{\"flags\": {\n\"seawall-ratelimit-login-mode\": {\"state\": \"ENABLED\", \"variants\": {\"v\": 7}, \"defaultVariant\": \"v\"}}}")
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-no-such-flag", []string{"-no-such-flag"}},
		{"surplus", []string{`"surplus"`}},
		{"-rate 0", []string{"-rate"}},
		{"-rate -1", []string{"-rate"}},
		{"-rate NaN", []string{"-rate", "NaN"}},
		{"-rate Inf", []string{"-rate"}},
		{"-rate ten", []string{"-rate", "ten"}},
		{"-rate 1e7", []string{"-rate"}},
		{"-rate 1e-9", []string{"-rate"}},
		{"-burst 0", []string{"-burst"}},
		{"-burst -5", []string{"-burst", "-5"}},
		{"-burst 1.5", []string{"-burst", "1.5"}},
		{"-burst 2000000000", []string{"-burst"}},
		{"-max-in-flight 0", []string{"-max-in-flight"}},
		{"-max-in-flight -1", []string{"-max-in-flight"}},
		{"-workers 0", []string{"-workers"}},
		{"-workers -3", []string{"-workers", "-3"}},
		{"-workers NaN", []string{"-workers", "NaN"}},
		{"-reserve 1", []string{"-reserve"}},
		{"-reserve -0.1", []string{"-reserve", "-0.1"}},
		{"-reserve NaN", []string{"-reserve", "NaN"}},
		{"-work=", []string{"-work", "sleep", "cpu"}},
		{"-work hard", []string{"-work", "hard", "sleep", "cpu"}},
		{"-redis not-a-url", []string{"-redis"}},
		{"-redis http://127.0.0.1", []string{"-redis"}},
		{"-redis redis://127.0.0.1:notaport", []string{"-redis"}},
		{"-redis redis://127.0.0.1/notadb", []string{"-redis"}},
		{"-redis redis://127.0.0.1:99999", []string{"-redis", "99999"}},
		{"-redis redis://127.0.0.1:0", []string{"-redis"}},
		{"-redis redis://", []string{"-redis", "host"}},
		{"-addr=", []string{"-addr"}},
		{"-redis-mode ring", []string{"-redis-mode", "ring"}},
		{"-redis-mode cluster", []string{"-redis-mode", "without -redis", "addr="}},
		{"-redis-mode cluster -redis 127.0.0.1:6379", []string{"-redis", "redis://"}},
		{"-redis-mode cluster -redis redis://:6379", []string{"-redis", "host"}},
		{"-redis-mode cluster -redis redis://127.0.0.1:6379?addr=b:0", []string{"-redis", `"0"`}},
		{"-redis-mode sentinel", []string{"-redis-mode", "sentinel", "without -redis", "master_name"}},
		{"-redis-mode sentinel -redis 127.0.0.1:26379", []string{"-redis", "redis://"}},
		{"-redis-mode sentinel -redis redis://127.0.0.1:26379", []string{"-redis", "no master_name"}},
		{"-redis-mode sentinel -redis redis://127.0.0.1?master_name=m", []string{"-redis", "no port"}},
		{"-redis-mode sentinel -redis redis://127.0.0.1:26379?master_name=m&addr=b:0", []string{"-redis", `"0"`}},
		{"-redis-mode sentinel -redis redis://127.0.0.1:26379?master_name=m&replica_only=true", []string{"-redis", "replica_only"}},
		{"-redis redis://127.0.0.1:26379?master_name=m", []string{"-redis", "master_name"}},
		{"-flags /no/such/file.json", []string{"-flags", "/no/such/file.json"}},
		{"-flags " + broken, []string{"-flags", broken + ":3:"}},
		{"-flags " + typo, []string{"-flags", typo + ":2:", "enforcee", "enforce"}},
		{"-flags " + policy, []string{"-flags", policy + ":2:", "seawall-ratelimit-login-mode"}},
		{"-addr 127.0.0.1:notaport", []string{"-addr"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			err := run(context.Background(), strings.Fields(c.args), io.Discard)
			require.Error(t, err)
			for _, want := range c.want {
				assert.Contains(t, err.Error(), want)
			}
		})
	}
}

func TestTheCommandExitsAndStopsAsOneExpects(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "payments")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))

	out, err = exec.CommandContext(t.Context(), binary, "-burst", "-5").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 2, exit.ExitCode())
	assert.Contains(t, string(out), "flag -burst")

	out, err = exec.CommandContext(t.Context(), binary, "-h").CombinedOutput()
	require.NoError(t, err)
	for _, name := range []string{"-addr", "-redis", "-redis-mode", "-flags", "-rate", "-burst", "-max-in-flight", "-workers", "-reserve", "-work "} {
		assert.Contains(t, string(out), name)
	}

	running := exec.CommandContext(t.Context(), binary, "-addr", "127.0.0.1:0")
	pipe, err := running.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, running.Start())
	first := make([]byte, 64)
	_, err = pipe.Read(first)
	require.NoError(t, err)
	require.NoError(t, running.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- running.Wait() }()
	select {
	case err := <-ended:
		assert.NoError(t, err)
	case <-time.After(10 * time.Second):
		require.NoError(t, running.Process.Kill())
		t.Fatal("SIGTERM did not end it")
	}
}

func TestThePasswordIsNotShown(t *testing.T) {
	for _, url := range []string{"redis://:s3cret@host:bad/0", "redis://:s3cret%zz@host/0", "redis://user:s3cret@host:99999"} {
		err := run(context.Background(), []string{"-redis", url}, io.Discard)
		require.ErrorContains(t, err, "-redis")
		assert.NotContains(t, err.Error(), "s3cret")
		err = run(context.Background(), []string{"-redis-mode", "sentinel", "-redis", url + "?master_name=m"}, io.Discard)
		require.ErrorContains(t, err, "-redis")
		assert.NotContains(t, err.Error(), "s3cret")
	}
}

func TestStoppingFinishesWhatIsInFlight(t *testing.T) {
	i := start(t)
	finished := hold(t, i, "held", 3, 700)
	require.NoError(t, i.stop())
	assert.Equal(t, map[int]int{200: 3}, codes(finished()))
}
