package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// The page of refusals, and the variable that names where to write it instead of comparing.
const (
	refusalsPage = top + "/docs/refusals.md"
	refusalsDoc  = "SEAWALL_REFUSALS_DOC"
)

const refusalsIntroduction = `# What a refusal looks like

Every refusal of the [payments example](../examples/payments/main.go), as curl prints it. [clients.md](clients.md) says what
the fields mean and how to configure a client. This page is written by a test that runs these commands,
[internal/clients/refusals_test.go](../internal/clients/refusals_test.go); ports and dates are replaced, and so is the
` + "`Retry-After`" + ` of a 503, which is spread at random: the smallest is shown.
`

// refusal is a section of the page: how the example is started, and a console session whose last command is refused.
type refusal struct {
	title    string
	happened string
	todo     string   // by the client
	args     []string // of the command
	redis    bool     // it runs on a Redis, which is killed when it is healthy
	code     int
	session  []string
}

func refusals() []refusal {
	const url = "http://127.0.0.1:8080"
	login := `curl -si -d '{"account":"alice"}' ` + url + "/v1/login"
	twoCharges := `curl -s -o /dev/null "` + url + `/v1/charges?n=[1-2]"`
	together := "curl -Z --parallel-immediate --no-progress-meter -o /dev/null "
	return []refusal{
		{
			title: "429: the rate limit of a caller", code: 429,
			happened: "The caller has spent its bucket of two requests, and one token comes back in a second.",
			todo:     "Wait for `Retry-After` seconds and send it again; send fewer at once.",
			args:     []string{"-rate", "1", "-burst", "2"},
			session:  []string{twoCharges, "curl -si " + url + "/v1/charges"},
		},
		{
			title: "429: the rate limit of logins", code: 429,
			happened: "Five attempts for one account from one address have spent the bucket; a token comes every twelve seconds.",
			todo:     "Wait as told; a program tells its user how long rather than wait in silence.",
			session: []string{
				`curl -s -o /dev/null -d '{"account":"alice"}' "` + url + `/v1/login?n=[1-5]"`, login,
			},
		},
		{
			title: "429: too many requests in flight", code: 429,
			happened: "Twenty requests of the caller are being worked on, and no token was taken for the one too many.",
			todo:     "Wait until one of them has been answered, at least for `Retry-After` seconds; have fewer workers.",
			session: []string{
				together + `"` + url + `/v1/reports?ms=8000&n=[1-20]" &`, "sleep 3", "curl -si " + url + "/v1/charges",
			},
		},
		{
			title: "503: the fleet keeps capacity for critical requests", code: 503,
			happened: "Ordinary requests hold eight of the fleet's ten workers, all that they may; a `POST /v1/charges` is still served.",
			todo:     "Wait for `Retry-After` seconds; the caller has done nothing wrong.",
			args:     []string{"-workers", "10"},
			session: []string{
				together + `"` + url + `/v1/reports?ms=6000&n=[1-8]" &`, "sleep 2", "curl -si " + url + "/v1/reports",
			},
		},
		{
			title: "503: this process is overloaded", code: 503,
			happened: "Critical requests are one and a half times as many as this process has workers, so it refuses all others " +
				"before it asks for quota: there are no `RateLimit` fields.",
			todo: "Wait for `Retry-After` seconds; another process may serve it.",
			args: []string{"-workers", "2"},
			session: []string{
				together + `-X POST "` + url + `/v1/charges?ms=3000&n=[1-3]" &`, "sleep 1", "curl -si " + url + "/v1/charges",
			},
		},
		{
			title: "503: a limit that cannot be checked", code: 503, redis: true,
			happened: "Redis is gone, and a login is not allowed unchecked; other requests are served, by this instance's share of their limits.",
			todo:     "Wait for `Retry-After` seconds and try again.",
			args:     []string{"-redis", "redis://127.0.0.1:6379"},
			session:  []string{login},
		},
		{
			title: "429 to a HEAD", code: 429,
			happened: "A HEAD counts like any other request, and is refused like it, but an answer to it has no body.",
			todo:     "Go by the status and the header alone, which say all that a program needs.",
			args:     []string{"-rate", "1", "-burst", "2"},
			session:  []string{twoCharges, "curl -sI " + url + "/v1/charges"},
		},
		{
			title: "413: a login's body is too large", code: 413,
			happened: "At most 4096 bytes are read to find out whose login it is. The limit of logins has not been charged.",
			todo:     "Do not repeat it.",
			session: []string{
				`printf '{"account":"%5000s"}' alice | curl -si -d @- ` + url + "/v1/login",
			},
		},
		{
			title: "400: a login without an account", code: 400,
			happened: "Without an account there is nothing to count by. The limit of logins has not been charged.",
			todo:     "Do not repeat it; mend the body.",
			session:  []string{`curl -si -d '{}' ` + url + "/v1/login"},
		},
	}
}

// TestRefusals plays every section, and compares with the page, or writes it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("curl")
	require.NoError(t, err, "make deps installs curl")
	all := refusals()
	sections := make([]string, len(all))
	t.Run("play", func(t *testing.T) { // returns when all that are parallel in it have ended
		for k, r := range all {
			t.Run(r.title, func(t *testing.T) {
				t.Parallel()
				sections[k] = r.section(t)
			})
		}
	})
	page := refusalsIntroduction + strings.Join(sections, "")
	if path := os.Getenv(refusalsDoc); path != "" {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
		return
	}
	const heading = "\n## "
	committed, played := strings.Split(read(t, refusalsPage), heading), strings.Split(page, heading)
	require.Len(t, played, len(committed))
	for k := range played { // not all at once: a difference is seen better so
		assert.Equal(t, committed[k], played[k], "write the page with %s=its absolute path", refusalsDoc)
	}
}

// section plays the session and returns the section.
func (r refusal) section(t *testing.T) string {
	t.Helper()
	var answer string
	for range 3 {
		// A session that the machine held up, so that tokens have come back meanwhile, is played again.
		var prompt bool
		if answer, prompt = r.play(t); prompt && strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", r.code)) {
			break
		}
	}
	require.Contains(t, answer, fmt.Sprintf("HTTP/1.1 %d ", r.code))
	var b strings.Builder
	command := strings.Join(append([]string{"go run ./examples/payments"}, r.args...), " ")
	fmt.Fprintf(&b, "\n## %s\n\nBehind `%s`", r.title, command)
	if r.redis {
		b.WriteString(", with that Redis killed")
	}
	fmt.Fprintf(&b, ".\n\n%s\n%s\n\n```console\n", wrap(r.happened), wrap(r.todo))
	for _, line := range r.session {
		fmt.Fprintf(&b, "$ %s\n", line)
	}
	fmt.Fprintf(&b, "%s\n```\n", stable(t, answer))
	return b.String()
}

// play starts the example, runs the session, and returns what its last command prints; and whether all that came before it
// took no longer than what the session itself sleeps and most of a second.
func (r refusal) play(t *testing.T) (string, bool) {
	t.Helper()
	args := r.args
	var server *redistest.Server
	if r.redis {
		server = redistest.Start(t)
		args = []string{"-redis", server.URL()}
	}
	p := startPayments(t, args...)
	defer p.Kill() // what still runs in the background ends with it
	if r.redis {
		server.Kill()
	}
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out")) // not a pipe, which what runs in the background would keep open
	require.NoError(t, err)
	defer out.Close()
	script := strings.ReplaceAll(strings.Join(r.session, "\n"), "http://127.0.0.1:8080", p.url)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Stdout = out
	began := time.Now()
	require.NoError(t, cmd.Run(), script)
	took := time.Since(began)
	for _, line := range r.session {
		if seconds, ok := strings.CutPrefix(line, "sleep "); ok {
			n, err := strconv.Atoi(seconds)
			require.NoError(t, err)
			took -= time.Duration(n) * time.Second
		}
	}
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n"), took < 900*time.Millisecond
}

// What differs from run to run.
var (
	dates  = regexp.MustCompile(`(?m)^Date: .*$`)
	waits  = regexp.MustCompile(`(?m)^Retry-After: (\d+)$`)
	member = regexp.MustCompile(`"retry_after":\d+`)
	detail = regexp.MustCompile(`\bafter \d+ s\b`)
)

// stable replaces it. The wait of a 503 is at least a second, and may be twice that.
func stable(t *testing.T, answer string) string {
	t.Helper()
	answer = dates.ReplaceAllString(answer, "Date: Sun, 29 Nov 2026 20:00:00 GMT")
	if strings.HasPrefix(answer, "HTTP/1.1 503 ") {
		told := waits.FindStringSubmatch(answer)
		require.NotNil(t, told, answer)
		assert.Contains(t, []string{"1", "2"}, told[1])
		assert.Contains(t, answer, `"retry_after":`+told[1])
		answer = waits.ReplaceAllString(answer, "Retry-After: 1")
		answer = member.ReplaceAllString(answer, `"retry_after":1`)
		answer = detail.ReplaceAllString(answer, "after 1 s")
	}
	return strings.TrimSpace(answer)
}

// wrap breaks a text into lines as long as the other pages'.
func wrap(text string) string {
	var b strings.Builder
	n := 0
	for k, word := range strings.Fields(text) {
		switch {
		case k == 0:
		case n+1+len(word) > 124:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String()
}
