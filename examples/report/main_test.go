package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/report"
)

// instance serves the report of one that would have refused a caller so often.
func instance(t *testing.T, times int) (url string) {
	t.Helper()
	r, err := report.New(report.Config{CallerID: seawall.SecretOf([32]byte{1}).CallerID})
	require.NoError(t, err)
	limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(t, err)
	req := &seawall.Request{Key: seawall.NewKey("a"), Name: "Acme", Route: "/v1/charges"}
	checks := []seawall.Check{{Limit: limit, Key: req.Key, Cost: 1}}
	for range times {
		r.Decided(t.Context(), req, seawall.Event{Outcome: seawall.WouldDeny, Mode: seawall.LogOnly, Check: &checks[0]})
		r.Checked(req, checks, []seawall.Result{{}})
	}
	s := httptest.NewServer(r.Handler())
	t.Cleanup(s.Close)
	return s.URL
}

func TestOneReportOfAllInstances(t *testing.T) {
	t.Parallel()
	a, b := instance(t, 3), instance(t, 4)
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), []string{a, b, b}, nil, &out), b+": left out: instance")
	assert.Contains(t, out.String(), "2 instances\n")
	assert.Regexp(t, `(?m)^ratelimit +api +enforce +7 +0 +7 +100.0% `, out.String())
	assert.Contains(t, out.String(), "Acme")

	out.Reset()
	require.NoError(t, run(t.Context(), []string{"-json", a, b}, nil, &out))
	file := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o600))
	text := out.String()
	for _, args := range [][]string{{"-json", file}, {"-json", "-"}} {
		out.Reset()
		require.NoError(t, run(t.Context(), args, strings.NewReader(text), &out))
		assert.JSONEq(t, text, out.String(), args)
	}
	out.Reset()
	require.NoError(t, run(t.Context(), []string{"-top", "0", a}, nil, &out))
	assert.NotContains(t, out.String(), "Acme")
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(gone.Close)
	a := instance(t, 3)
	var out bytes.Buffer
	err := run(t.Context(), []string{a, gone.URL, "nowhere.json", "-"}, strings.NewReader("{}"), &out)
	require.ErrorContains(t, err, gone.URL+": answered 404 Not Found")
	require.ErrorContains(t, err, "nowhere.json: no such file")
	require.ErrorContains(t, err, "-: no report: it names no instance")
	assert.Contains(t, out.String(), "Acme", "the others are reported")

	err = run(t.Context(), []string{strings.Replace(gone.URL, "://", "://me:hush@", 1), "http://me:hush@127.0.0.1:1/"}, nil, &out)
	require.ErrorContains(t, err, "//me:xxxxx@127.0.0.1:1/: ")
	require.NotContains(t, err.Error(), "hush")
	require.ErrorContains(t, run(t.Context(), []string{"-"}, strings.NewReader(`{"instances":["a"]} {}`), &out), "no report")

	require.ErrorContains(t, run(t.Context(), nil, nil, &out), "no reports; want")
	require.ErrorContains(t, run(t.Context(), []string{"-top", "-1", a}, nil, &out), "flag -top: -1")
	require.ErrorContains(t, run(t.Context(), []string{"-"}, strings.NewReader("refusals from"), &out), "-: no report: invalid character")
	out.Reset()
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, nil, &out), flag.ErrHelp)
	assert.Contains(t, out.String(), "usage: report")
	assert.False(t, json.Valid(out.Bytes()))
}
