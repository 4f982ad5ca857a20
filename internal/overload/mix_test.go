package overload

import (
	"fmt"
	"math/rand/v2"
	"net/http"
)

const callers = 300

// request is one of the mix. The key says who asks, and whether in test mode.
type request struct {
	tier              int
	method, path, key string
}

// kind is a sort of request, with its share of the mix in percent.
type kind struct {
	tier         int
	percent      int
	method, path string
	key          string // of a caller, by number
}

// kinds are the requests of an API of payments, in the order of TierNames. A test key makes a request test mode, whatever
// it asks for.
func kinds() []kind {
	return []kind{
		{0, 20, http.MethodPost, "/v1/charges", "sk_live_%d"},
		{1, 20, http.MethodPost, "/v1/refunds", "sk_live_%d"},
		{2, 30, http.MethodGet, "/v1/charges", "sk_live_%d"},
		{2, 15, http.MethodGet, "/v1/charges/ch_1", "sk_live_%d"},
		{3, 10, http.MethodGet, "/v1/charges", "sk_test_%d"},
		{3, 5, http.MethodPost, "/v1/charges", "sk_test_%d"},
	}
}

// mix returns n requests: of each hundred as many of a kind as its share says, in an order of their own, from callers that
// are drawn. The same seed is the same requests.
func mix(n int, seed uint64) []request {
	rnd := rand.New(rand.NewPCG(seed, 0))
	var hundred []kind
	for _, k := range kinds() {
		for range k.percent {
			hundred = append(hundred, k)
		}
	}
	all := make([]request, n)
	for i := range all {
		if i%len(hundred) == 0 {
			rnd.Shuffle(len(hundred), func(a, b int) { hundred[a], hundred[b] = hundred[b], hundred[a] })
		}
		k := hundred[i%len(hundred)]
		all[i] = request{
			tier: k.tier, method: k.method, path: fmt.Sprintf("%s?ms=%d", k.path, workMs),
			key: fmt.Sprintf(k.key, rnd.IntN(callers)),
		}
	}
	return all
}

// shares are those of the tiers in the mix.
func shares() (s [Tiers]float64) {
	for _, k := range kinds() {
		s[k.tier] += float64(k.percent) / 100
	}
	return s
}
