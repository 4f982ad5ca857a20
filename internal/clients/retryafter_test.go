package clients

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// server is a fake: it gives its answers one after the other, the last again and again, and notes what it was sent and when.
type server struct {
	answers []said
	at      []time.Duration
	bodies  []string
	began   time.Time
	open    int // bodies of answers that nobody has closed
}

func newServer(answers ...said) *server {
	return &server{answers: answers, began: time.Now()}
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.at = append(s.at, time.Since(s.began))
	if req.Body != nil {
		text, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, string(text))
	}
	a := s.answers[min(len(s.at), len(s.answers))-1]
	if a.code == 0 {
		return nil, errors.New("connection reset")
	}
	s.open++
	return &http.Response{StatusCode: a.code, Header: a.header, Body: &body{strings.NewReader("what it says"), s}}, nil
}

type body struct {
	io.Reader
	of *server
}

func (b *body) Close() error {
	b.of.open--
	return nil
}

// said is an answer; status 0 is none, but a connection that breaks.
type said struct {
	code   int
	header http.Header
}

// says returns an answer with the status and header fields, name and value in turn.
func says(code int, fields ...string) said {
	h := http.Header{}
	for i := 0; i < len(fields); i += 2 {
		h.Set(fields[i], fields[i+1])
	}
	return said{code, h}
}

func get(ctx context.Context, t *testing.T) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example/", http.NoBody)
	require.NoError(t, err)
	return req
}

// do sends the request to the server with a Retry of 5 attempts, 30 s each, and returns the answer's status, 0 if there is none.
func do(t *testing.T, s *server, req *http.Request) (int, error) {
	t.Helper()
	r := &Retry{Client: &http.Client{Transport: s}, Attempts: 5, MaxWait: 30 * time.Second}
	resp, err := r.Do(req)
	if err != nil {
		assert.Nil(t, resp)
		assert.Zero(t, s.open)
		return 0, err
	}
	defer resp.Body.Close()
	assert.Equal(t, 1, s.open, "only the last answer is open")
	text, err := io.ReadAll(resp.Body)
	assert.NoError(t, err)
	assert.Equal(t, "what it says", string(text), "and unread")
	return resp.StatusCode, nil
}

// within asserts that it is not less than the least, and not more than the most.
func within(t *testing.T, least, most, is time.Duration) {
	t.Helper()
	assert.GreaterOrEqual(t, is, least)
	assert.LessOrEqual(t, is, most)
}

func TestWaits(t *testing.T) {
	const now = "Sun, 29 Nov 2026 20:00:00 GMT" // not what the client's clock says
	for name, c := range map[string]struct {
		refusal said
		least   time.Duration
	}{
		"seconds":            {says(429, "Retry-After", "12"), 12 * time.Second},
		"503":                {says(503, "Retry-After", "3"), 3 * time.Second},
		"zero":               {says(429, "Retry-After", "0"), 0},
		"the most":           {says(429, "Retry-After", "30"), 30 * time.Second},
		"a date":             {says(429, "Retry-After", "Sun, 29 Nov 2026 20:00:07 GMT", "Date", now), 7 * time.Second},
		"a date of old form": {says(503, "Retry-After", "Sunday, 29-Nov-26 20:00:07 GMT", "Date", now), 7 * time.Second},
		"a date gone by":     {says(429, "Retry-After", "Sun, 29 Nov 2026 19:00:00 GMT", "Date", now), 0},
		"a date, and no clock but ours": {
			// A bubble of synctest begins then.
			says(429, "Retry-After", time.Date(2000, 1, 1, 0, 0, 9, 0, time.UTC).Format(http.TimeFormat)), 9 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(c.refusal, says(200))
				code, err := do(t, s, get(t.Context(), t))
				require.NoError(t, err)
				assert.Equal(t, 200, code)
				require.Len(t, s.at, 2)
				within(t, c.least, min(c.least+2*time.Second, 30*time.Second), s.at[1])
			})
		})
	}
}

func TestWhatIsNotRepeated(t *testing.T) {
	for name, answer := range map[string]said{
		"served":                      says(200, "Retry-After", "1"),
		"of no use":                   says(400, "Retry-After", "1"),
		"too large":                   says(413, "Retry-After", "1"),
		"failed, perhaps half done":   says(500, "Retry-After", "1"),
		"a gateway's, perhaps done":   says(504, "Retry-After", "1"),
		"429 without Retry-After":     says(429),
		"503 without Retry-After":     says(503),
		"an empty one":                says(429, "Retry-After", ""),
		"garbage":                     says(429, "Retry-After", "soon"),
		"a fraction":                  says(429, "Retry-After", "1.5"),
		"a sign":                      says(429, "Retry-After", "+1"),
		"negative":                    says(429, "Retry-After", "-1"),
		"not a date":                  says(429, "Retry-After", "Sun, 99 Nov 2026 20:00:00 GMT"),
		"beyond the most":             says(429, "Retry-After", "31"),
		"more than a duration holds":  says(503, "Retry-After", "4294967295"),
		"more than an integer holds":  says(503, "Retry-After", "99999999999999999999"),
		"a date beyond the most":      says(429, "Retry-After", "Sun, 29 Nov 2026 20:00:31 GMT", "Date", "Sun, 29 Nov 2026 20:00:00 GMT"),
		"a date in the far future":    says(429, "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", "Date", "Sun, 29 Nov 2026 20:00:00 GMT"),
		"a connection that was reset": says(0),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(answer)
				code, err := do(t, s, get(t.Context(), t))
				if answer.code == 0 {
					assert.ErrorContains(t, err, "connection reset")
				} else {
					require.NoError(t, err)
					assert.Equal(t, answer.code, code)
				}
				assert.Equal(t, []time.Duration{0}, s.at)
			})
		})
	}
}

func TestAttemptsAreCountedAndSpreadMoreAndMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var widest [5]time.Duration
		for range 200 {
			s := newServer(says(503, "Retry-After", "2"))
			code, err := do(t, s, get(t.Context(), t))
			require.NoError(t, err)
			assert.Equal(t, 503, code)
			require.Len(t, s.at, 5)
			for k := 1; k < 5; k++ {
				extra := s.at[k] - s.at[k-1] - 2*time.Second
				within(t, 0, min(time.Second<<k, 28*time.Second), extra)
				widest[k] = max(widest[k], extra)
			}
		}
		for k := 1; k < 5; k++ { // 200 draws all below the half: once in 2^200
			assert.Greater(t, widest[k], time.Second<<k/2)
		}
	})
}

func TestTheJitterIsCappedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			s := newServer(says(429, "Retry-After", "30"), says(200))
			_, err := do(t, s, get(t.Context(), t))
			require.NoError(t, err)
			assert.Equal(t, []time.Duration{0, 30 * time.Second}, s.at)
		}
	})
}

func TestEvenManyAttemptsDoNotOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(says(429, "Retry-After", "1"))
		r := &Retry{Client: &http.Client{Transport: s}, Attempts: 100, MaxWait: time.Minute}
		resp, err := r.Do(get(t.Context(), t))
		require.NoError(t, err)
		assert.NoError(t, resp.Body.Close())
		require.Len(t, s.at, 100)
		for k := 1; k < 100; k++ {
			within(t, time.Second, time.Minute, s.at[k]-s.at[k-1])
		}
	})
}

func TestTheContextEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		s := newServer(says(429, "Retry-After", "12"))
		code, err := do(t, s, get(ctx, t))
		assert.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, code)
		assert.Equal(t, 5*time.Second, time.Since(s.began))
		assert.Len(t, s.at, 1)
	})
}

func TestAWaitBeyondTheDeadlineIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s := newServer(says(429, "Retry-After", "12"))
		code, err := do(t, s, get(ctx, t))
		require.NoError(t, err)
		assert.Equal(t, 429, code, "the caller learns why it was not served")
		assert.Zero(t, time.Since(s.began))
	})
}

func TestABodyIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(says(429, "Retry-After", "1"), says(503, "Retry-After", "1"), says(200))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.example/", strings.NewReader("amount=1"))
		require.NoError(t, err)
		req.Header.Set("Idempotency-Key", "k")
		code, err := do(t, s, req)
		require.NoError(t, err)
		assert.Equal(t, 200, code)
		assert.Equal(t, []string{"amount=1", "amount=1", "amount=1"}, s.bodies)
	})
}

func TestABodyThatCannotBeReadAgainIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(says(429, "Retry-After", "1"))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.example/",
			io.MultiReader(strings.NewReader("amount=1")))
		require.NoError(t, err)
		code, err := do(t, s, req)
		require.NoError(t, err)
		assert.Equal(t, 429, code)
		assert.Equal(t, []string{"amount=1"}, s.bodies)
	})
}

func TestABodyThatFailsIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(says(429, "Retry-After", "1"))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.example/", strings.NewReader("amount=1"))
		require.NoError(t, err)
		gone := errors.New("the file is gone")
		req.GetBody = func() (io.ReadCloser, error) { return nil, gone }
		_, err = do(t, s, req)
		assert.ErrorIs(t, err, gone)
		assert.Len(t, s.at, 1)
	})
}
