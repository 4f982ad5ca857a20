package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/command"
	"github.com/seawall-go/seawall/internal/openloop"
	"github.com/seawall-go/seawall/internal/redistest"
)

// buildPayments builds the example once, into the folder that TestMain removes.
var buildPayments = sync.OnceValues(func() (string, error) {
	return filepath.Join(binaries, "payments"), command.Build(binaries, "./examples/payments")
})

// payments is a process of the payments example.
type payments struct {
	*redistest.Process
	url    string
	client *http.Client
	log    command.Log
}

// startPayments starts the example on a free port, and returns once it listens.
func startPayments(t *testing.T, server *redistest.Server, args ...string) *payments {
	t.Helper()
	path, err := buildPayments()
	require.NoError(t, err)
	cmd := exec.Command(path, append([]string{"-addr", "127.0.0.1:0", "-redis", server.URL()}, args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	transport := &http.Transport{MaxIdleConnsPerHost: 200}
	t.Cleanup(transport.CloseIdleConnections)
	p := &payments{client: &http.Client{Transport: transport, Timeout: 90 * time.Second}}
	cmd.Stderr = &p.log
	p.Process = redistest.Launch(t, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	p.url = strings.TrimSpace(strings.TrimPrefix(line, "payments: listening on "))
	return p
}

// get asks for a path as the caller, and returns the status: 0 if there was no answer.
func (p *payments) get(caller, path string) int { return p.do(http.MethodGet, caller, path, "") }

// login has an account log in.
func (p *payments) login(account string) int {
	return p.do(http.MethodPost, account, "/v1/login", fmt.Sprintf(`{"account": %q}`, account))
}

func (p *payments) do(method, caller, path, body string) int {
	req, err := http.NewRequestWithContext(context.Background(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	req.Header.Set("Authorization", "Bearer sk_live_"+caller)
	resp, err := p.client.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// metric sums the samples of a metric whose labels include all the given texts, such as `layer="fleetshed"`.
func (p *payments) metric(t *testing.T, name string, labels ...string) (sum float64) {
	t.Helper()
	resp, err := p.client.Get(p.url + "/metrics")
	if !assert.NoError(t, err) {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") {
			continue
		}
		head, value := rest[:strings.LastIndex(rest, " ")], rest[strings.LastIndex(rest, " ")+1:]
		if slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(head, l) }) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		assert.NoError(t, err, lines.Text())
		sum += v
	}
	return sum
}

// healthy waits until the instance says that it is in the fleet, or was long enough alone.
func (p *payments) healthy(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return p.get("nobody", "/healthz") == http.StatusOK }, soon, 5*time.Millisecond)
}

// overHTTP has the fault come and go under requests to the example, and asserts that all but logins are served,
// and that logins are not while Redis is away.
func (r *row) overHTTP(t *testing.T, server *redistest.Server, o outage) {
	t.Helper()
	p := startPayments(t, server, "-rate", "100000", "-burst", "100000", "-workers", "1000", "-max-in-flight", "1000")
	p.healthy(t)
	at := thePace()
	total := at.healthy + at.faulty + at.healed
	type answer struct {
		code int
		at   time.Time
	}
	answers := make([]answer, 200*int(total/time.Millisecond)/1000)
	recorded := make(chan *openloop.Record)
	go func() {
		recorded <- openloop.Run(context.Background(), openloop.Load{Rate: 200, For: total}, func(i int) {
			began := time.Now()
			if i%10 == 0 {
				answers[i] = answer{p.login(fmt.Sprint("user", i)), began}
			} else {
				answers[i] = answer{p.get(fmt.Sprint(i%7), "/v1/charges"), began}
			}
		})
	}()
	time.Sleep(at.healthy)
	o.inject()
	began := time.Now()
	shows(t, server.URL(), o.shows)
	time.Sleep(time.Until(began.Add(at.faulty)))
	ended := time.Now()
	o.heal()
	rec := <-recorded

	codes, logins := map[int]int{}, map[int]int{}
	for i, a := range answers {
		switch {
		case i%10 != 0:
			codes[a.code]++
		case a.at.After(began) && a.at.Add(200*time.Millisecond).Before(ended):
			logins[a.code]++
		}
	}
	assert.Equal(t, map[int]int{http.StatusOK: len(rec.Samples) - (len(rec.Samples)+9)/10}, codes)
	assert.Positive(t, logins[http.StatusServiceUnavailable])
	assert.Len(t, logins, 1, "logins while Redis is away: %v", logins)
	r.note("over HTTP: %d of %d answered 200, %d logins 503", codes[http.StatusOK], len(rec.Samples)*9/10, logins[http.StatusServiceUnavailable])
}
