package abuse

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestForgedAddresses has one client without a key claim to be somebody else in every request. It is the one that the
// socket says.
func TestForgedAddresses(t *testing.T) {
	t.Parallel()
	const rate, burst = 10, 20 // the command's defaults
	p := start(t, nil)
	w := p.watch(t)
	over := p.bystanders(20)
	n := count(t, "forged addresses", 10_000, 100_000)
	began := time.Now()
	codes := flood(t, p.addr, n, func(b []byte, i int) []byte {
		v4, v6 := fmt.Sprintf("198.%d.%d.%d", 18+i>>16, i>>8&255, i&255), fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff)
		return get(b, "/v1/charges", [...]string{
			"X-Forwarded-For: " + v4 + "\r\n",
			"X-Forwarded-For: " + v6 + ", 127.0.0.1\r\nX-Real-IP: " + v4 + "\r\n",
			"X-Forwarded-For: " + v4 + "\r\nX-Forwarded-For: " + v6 + "\r\nForwarded: for=\"[" + v6 + "]:80\"\r\n",
			"X-Real-IP: " + v6 + "\r\nTrue-Client-IP: " + v4 + "\r\nCF-Connecting-IP: " + v4 + "\r\nX-Client-IP: " + v4 + "\r\n",
			"Forwarded: for=" + v4 + ";by=" + v4 + "\r\nConnection: keep-alive, x-real-ip\r\nX-Real-IP: " + v4 + "\r\n",
			// Also a key that is none does not make a caller.
			"Authorization: Bearer made_up_" + v4 + "\r\n",
			"Authorization: Bearer sk_live_" + v4 + "\r\nAuthorization: Bearer sk_live_" + v6 + "\r\n",
			"Authorization: Basic " + v4 + "\r\n",
		}[i%8])
	})
	may := burst + rate*time.Since(began).Seconds()
	t.Logf("%d requests: %v; one caller may send %.0f", n, codes, may)
	within := codes[http.StatusOK] + codes[http.StatusBadRequest] // the latter for two keys at once
	assert.LessOrEqual(t, float64(within), may)
	assert.Equal(t, n, within+codes[http.StatusTooManyRequests])
	over(t).served(t)
	w.over(t, 50*mib) // nothing but connections and garbage
}
