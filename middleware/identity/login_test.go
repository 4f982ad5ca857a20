package identity_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/identity"
)

func TestNormalize(t *testing.T) {
	for spelling, want := range map[string]string{
		"alice":                "alice",
		" Alice\t":             "alice",
		"ALICE":                "alice",
		"Alice  B.\u00a0Smith": "alice b. smith",
		"ａｌｉｃｅ":                "alice", // full width
		"al\u200bi\u00adce":    "alice", // zero width, soft hyphen
		"\ufeffalice\ufe0f":    "alice", // byte order mark, variation selector
		"ﬁona":                 "fiona",
		"Straße":               "strasse",
		"STRASSE":              "strasse",
		"e\u0301mile":          "\u00e9mile",
		"\u00c9MILE":           "\u00e9mile",
		"Ⓐlice":                "alice",
		"alice\u3164":          "alice", // a letter that is not seen
		"":                     "",
		" \u200b ":             "",
		"\xff\xfe":             "\ufffd\ufffd",
		"a@EXAMPLE.com":        "a@example.com",
		"İstanbul":             "istanbul",
		"al\u0000ice\u0001":    "alice",
		"ınstanbul":            "instanbul",
		"mİnİsterİng":          "ministering",
		"I\u0307stanbul":       "istanbul",
		"i\u0307stanbul":       "istanbul",
		"jose\u200d\u0301":     "jos\u00e9",
		"\u1e9e":               "ss",
		"\u2126":               "\u03c9", // ohm
		"ΣΊΣΥΦΟΣ":              "σίσυφοσ",
		"σίσυφος":              "σίσυφοσ",
		"a\u0345\u0301":        identity.Normalize("a\u0301\u0345"),
	} {
		assert.Equal(t, want, identity.Normalize(spelling), "%q", spelling)
		assert.Equal(t, want, identity.Normalize(identity.Normalize(spelling)), "%q twice", spelling)
	}
}

// form is a request that says its body is of a media type.
func form(mediaType string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/login", http.NoBody)
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	return r
}

func TestJSONMember(t *testing.T) {
	mediaType := "application/json"
	find := identity.JSONMember("account")
	for body, want := range map[string]string{
		`{"account":"alice"}`: "alice",
		"\n" + `{"password":{"account":"x"},"account":"alice"}`: "alice",
		`{"Account":"alice"}`:      "alice", // many decoders take it
		`{"acc\u006funt":"alice"}`: "alice",
		`{"account":"\ud800"}`:     "\ufffd",
		"{\"account\":\"\xff\"}":   "\ufffd",
	} {
		got, err := find(form(mediaType), []byte(body))
		require.NoError(t, err, body)
		assert.Equal(t, want, got, body)
	}
	for _, body := range []string{
		"", "x", "[]", `"account"`, `{"account":"a"`, `{"account":"a"}{}`, `{"account":"a"}x`, `{"account":1}`, `{"account":["a"]}`,
		`{}`, `{"account":null}`, `{"account":""}`, `{"account":"a","account":"b"}`, `{"account":"a","ACCOUNT":"b"}`, `{"account":"a","account":null}`, `{"account":null,"account":"a"}`,
	} {
		_, err := find(form(mediaType), []byte(body))
		require.Error(t, err, body)
	}
}

func TestFormField(t *testing.T) {
	mediaType := "application/x-www-form-urlencoded; charset=utf-8"
	find := identity.FormField("account")
	for body, want := range map[string]string{
		"account=alice&password=x": "alice", "account=a%20b+c": "a b c", "x=&account=a": "a",
	} {
		got, err := find(form(mediaType), []byte(body))
		require.NoError(t, err)
		assert.Equal(t, want, got, body)
	}
	for _, body := range []string{"", "account=", "account=%zz", "account=a&account=b", "Account=a", "account=a;b=c"} {
		_, err := find(form(mediaType), []byte(body))
		require.EqualError(t, err, `identity: The body of a login must be a form with one field "account".`, body)
	}
}

// login makes a request with a body on the route of logins.
func login(body io.Reader) *call {
	return &call{r: httptest.NewRequest(http.MethodPost, "/login", body), w: httptest.NewRecorder(), route: "/login"}
}

func withLogin(t *testing.T, l identity.Login) identity.Identify {
	t.Helper()
	h := hasher(t, "")
	l.Routes = []string{"/login"}
	id, err := h.WithLogin(h.ByAddress(), l)
	require.NoError(t, err)
	return id
}

// TestWhatAHandlerMightReadInsteadHasNoAccount is about requests that name two accounts.
func TestWhatAHandlerMightReadInsteadHasNoAccount(t *testing.T) {
	const asForm = "application/x-www-form-urlencoded"
	member, field := identity.JSONMember("account"), identity.FormField("account")
	for _, c := range []struct {
		find            identity.Account
		target, is, has string
	}{
		{field, "/login?account=alice", asForm, "account=x7"},
		{field, "/login?account=alice;x", asForm, "account=x7"},
		{field, "/login", "text/plain", "account=x7"},
		{field, "/login", "", "account=x7"},
		{field, "/login", "multipart/form-data; boundary=x", "account=x7"},
		{member, "/login", asForm, `{"account":"x7&account=alice&y"}`},
		{member, "/login", asForm, `{"account":"x7&ACCOUNT=alice&y"}`},
		{member, "/login", "application/xml", `{"account":"x7<login><account>alice</account></login>"}`},
		{member, "/login", "text/XML; charset=utf-8", `{"account":"x7"}`},
		{member, "/login", "application/soap+xml", `{"account":"x7"}`},
		{member, "/login", "multipart/form-data; boundary=x", `{"account":"x7"}`},
		{member, "/login?Account=alice", "application/json", `{"account":"x7"}`},
	} {
		r := httptest.NewRequest(http.MethodPost, c.target, http.NoBody)
		r.Header.Set("Content-Type", c.is)
		_, err := c.find(r, []byte(c.has))
		require.Error(t, err, c)
	}
	for _, is := range []string{"", asForm, "application/json", "application/vnd.api+json", "text/plain"} {
		account, err := member(form(is), []byte(`{"account":"x7"}`))
		require.NoError(t, err)
		assert.Equal(t, "x7", account)
	}
}

// TestSpellingsThatGoTakesForOne has every character with a case or that is not seen, and some of the others, alone and
// inside an accent.
func TestSpellingsThatGoTakesForOne(t *testing.T) {
	for r := rune(1); r <= unicode.MaxRune; r++ {
		cased := unicode.ToUpper(r) != r || unicode.ToLower(r) != r || unicode.In(r, unicode.M, unicode.Cf, unicode.Lt)
		if r == 0x345 || !cased && r%97 != 0 { // an iota below a letter is its own case inside an accent
			continue
		}
		for _, account := range []string{string(r), "e" + string(r) + "\u0301"} {
			want := identity.Normalize(account)
			for _, other := range []string{strings.ToLower(account), strings.ToUpper(account), want, norm.NFD.String(account)} {
				if got := identity.Normalize(other); got != want {
					assert.Equal(t, want, got, "%+q as %+q", account, other)
				}
			}
		}
	}
}

func TestALoginHasThreeKeys(t *testing.T) {
	h, id := hasher(t, ""), withLogin(t, identity.Login{})
	keys := func(account, peer string) [3]seawall.Key {
		c := login(strings.NewReader(fmt.Sprintf(`{"account":%q}`, account)))
		c.r.RemoteAddr = peer
		r := seawall.Request{More: []seawall.Key{seawall.NewKey("of", "base")}}
		require.NoError(t, id(c, &r))
		assert.Equal(t, seawall.NewKey("of", "base"), r.More[3])
		return [3]seawall.Key{identity.LoginPair(&r), identity.LoginAccount(&r), identity.LoginAddress(&r)}
	}
	a := keys("alice", "192.0.2.1:1")
	assert.Equal(t, a, keys(" ALICE ", "192.0.2.1:2"))
	assert.Equal(t, h.Key("addr", "192.0.2.1"), a[2], "as of any other request from there")
	b := keys("bob", "192.0.2.1:1")
	assert.NotEqual(t, a[0], b[0])
	assert.NotEqual(t, a[1], b[1])
	assert.Equal(t, a[2], b[2])
	c := keys("alice", "192.0.2.2:1")
	assert.NotEqual(t, a[0], c[0])
	assert.Equal(t, a[1], c[1])
	assert.NotEqual(t, a[2], c[2])
	assert.NotContains(t, fmt.Sprint(a), "alice")
}

func TestWhatIsNoLoginKeepsItsBody(t *testing.T) {
	c := login(failing{errors.New("read")})
	var r seawall.Request
	for _, other := range [][2]string{{"POST", "/other"}, {"GET", "/login"}, {"HEAD", "/login"}, {"OPTIONS", "/login"}, {"POST", ""}} {
		c.r.Method, c.route, c.r.ContentLength = other[0], other[1], 0
		require.NoError(t, withLogin(t, identity.Login{})(c, &r), "such as a page that asks for the account")
	}
	tenant := seawall.Request{Key: r.Key, More: []seawall.Key{seawall.NewKey("tenant", "7")}, Tier: seawall.Write}
	assert.Equal(t, r.Key, identity.LoginPair(&tenant), "what else is in More is no login's")
	page := login(http.NoBody)
	page.r.Method, page.r.ContentLength = "GET", 0
	asks := seawall.Request{Tier: seawall.TestMode}
	require.NoError(t, withLogin(t, identity.Login{})(page, &asks))
	assert.Equal(t, seawall.Key{}, identity.LoginPair(&asks), "the page that asks is nobody's attempt, in test mode neither")
	page.r.URL.RawQuery = "next=%2Fhome"
	require.NoError(t, withLogin(t, identity.Login{})(page, new(seawall.Request)))
	page.r.URL.RawQuery = "Account=alice"
	for _, account := range []identity.Account{nil, identity.FormField("account")} {
		require.Error(t, withLogin(t, identity.Login{Account: account})(page, new(seawall.Request)), "a handler might take it")
	}
	for _, key := range []func(*seawall.Request) seawall.Key{identity.LoginPair, identity.LoginAccount, identity.LoginAddress} {
		assert.Equal(t, seawall.Key{}, key(&seawall.Request{Key: r.Key, Tier: seawall.Read}))
		assert.Equal(t, r.Key, key(&seawall.Request{Key: r.Key, Tier: seawall.Write}), "a policy on logins must not limit nobody")
		assert.Equal(t, r.Key, key(&seawall.Request{Key: r.Key, Tier: seawall.TestMode}))
	}
}

// failing is a body that cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// closing tells whether it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestTheBodyIsGivenBack(t *testing.T) {
	text := `{"account":"alice","password":"` + strings.Repeat("x", 4000) + `"}`
	body := &closing{Reader: strings.NewReader(text)}
	c := login(body)
	require.NoError(t, withLogin(t, identity.Login{})(c, new(seawall.Request)))
	got, err := io.ReadAll(c.r.Body)
	require.NoError(t, err)
	assert.Equal(t, text, string(got))
	require.NoError(t, c.r.Body.Close())
	assert.True(t, body.closed)
}

func TestLoginsThatCannotBe(t *testing.T) {
	status := func(body io.Reader, length int64) int {
		c := login(body)
		c.r.ContentLength = length
		err := withLogin(t, identity.Login{})(c, new(seawall.Request))
		e, ok := errors.AsType[*identity.Error](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, "identity: "+e.Detail, e.Error())
		return e.StatusCode()
	}
	account := func(n int) string { return `{"account":"` + strings.Repeat("a", n-14) + `"}` }
	require.NoError(t, withLogin(t, identity.Login{})(login(strings.NewReader(account(4096))), new(seawall.Request)))
	assert.Equal(t, 413, status(strings.NewReader(account(4097)), -1))
	assert.Equal(t, 413, status(failing{errors.New("read")}, 4097), "unread")
	assert.Equal(t, 413, status(io.LimitReader(strings.NewReader(strings.Repeat(" ", 1<<20)), 1<<20), -1))
	assert.Equal(t, 400, status(failing{io.ErrUnexpectedEOF}, -1))
	for _, body := range []string{"", "{}", `{"account":""}`, `{"account":" \u200b"}`, `{"account":"a","Account":"b"}`} {
		assert.Equal(t, 400, status(strings.NewReader(body), -1), body)
	}
}

func TestLoginConfigsThatCannotBe(t *testing.T) {
	h := hasher(t, "")
	for want, l := range map[string]identity.Login{
		"Routes is empty":                           {},
		`Routes[1] is "POST /login"`:                {Routes: []string{"/a", "POST /login"}},
		`Routes[0] is "/v1/*"`:                      {Routes: []string{"/v1/*"}},
		"MaxBody is -1 and MaxWait is 0s":           {Routes: []string{"/a"}, MaxBody: -1},
		"MaxWait is -1s; want positive values, or ": {Routes: []string{"/a"}, MaxWait: -time.Second},
	} {
		_, err := h.WithLogin(h.ByAddress(), l)
		require.ErrorContains(t, err, want)
	}
	_, err := h.WithLogin(nil, identity.Login{Routes: []string{"/a"}})
	require.ErrorContains(t, err, "base is nil")
}

// TestASlowBodyIsCutAndAFastOneLeavesNoDeadline has a server read from real connections.
func TestASlowBodyIsCutAndAFastOneLeavesNoDeadline(t *testing.T) {
	id := withLogin(t, identity.Login{MaxWait: 200 * time.Millisecond, Account: identity.FormField("account")})
	ended := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := id(&call{r: r, w: w, route: "/login"}, new(seawall.Request)); err != nil {
			ended <- err
			return
		}
		time.Sleep(600 * time.Millisecond) // three times what the body had
		ended <- r.Context().Err()
	}))
	t.Cleanup(srv.Close)
	resp, err := http.Post(srv.URL, "application/x-www-form-urlencoded", strings.NewReader("account=alice")) //nolint:noctx // the test's own
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.NoError(t, <-ended, "the request of a handler that works for longer is not over")

	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	go func() { _, _ = w.Write([]byte("acc")) }()
	go func() {
		resp, err := http.Post(srv.URL, "application/x-www-form-urlencoded", r) //nolint:noctx // the test's own
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	e, ok := errors.AsType[*identity.Error](<-ended)
	require.True(t, ok)
	assert.Equal(t, http.StatusBadRequest, e.Status)
}
