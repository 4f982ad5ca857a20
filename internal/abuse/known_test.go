package abuse

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAnswersDoNotTellWhoIsKnown compares what those are answered who have been here, and those who have not: served and
// refused, with a key and with an account.
func TestAnswersDoNotTellWhoIsKnown(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "-rate", "0.01", "-burst", "2")
	for caller := range 3 { // those that are known
		p.do(http.MethodGet, "/v1/charges", fmt.Sprint("known", caller), "")
	}
	for _, as := range []func(who string) string{
		func(who string) string { return head("GET", "/v1/reports", "Authorization: Bearer sk_live_"+who) },
		func(who string) string { return head("GET", "/v1/reports", "Authorization: Bearer sk_test_"+who) },
		func(who string) string { return login(fmt.Sprintf(`{"account": %q}`, who)) },
	} {
		shapes := map[int]map[string]bool{}
		for _, who := range []string{"known0", "unknown", "known1", "root", "known2", "nobody' --"} {
			for range 7 {
				r, err := ask(t, p.addr, as(who))
				require.NoError(t, err)
				if shapes[r.code] == nil {
					shapes[r.code] = map[string]bool{}
				}
				shapes[r.code][shape(t, r)] = true
			}
		}
		assert.Len(t, shapes, 2, "served, then refused: %v", shapes)
		for code, all := range shapes {
			assert.Len(t, all, 1, "%d: %v", code, all)
		}
	}
}

// TestOneAccountHasOneQuota spells an account in many ways.
func TestOneAccountHasOneQuota(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	codes := map[int]int{}
	for _, account := range []string{
		`alice`, `ALICE`, ` alice`, `alice `, `\u0061lice`, `aLiCe`, `\talice\n`, `\u0041LICE`, `alice\u0020`, `\u00a0alice`,
	} {
		for _, body := range []string{`{"account": "%s"}`, `{"account": "x", "account": "%s"}`, ` {"a": {}, "account" : "%s", "b": []} `} {
			r, err := ask(t, p.addr, login(fmt.Sprintf(body, account)))
			require.NoError(t, err)
			codes[r.code]++
		}
	}
	assert.LessOrEqual(t, codes[http.StatusOK], 5, "the quota of one: %v", codes)
}
