package abuse

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall/internal/openloop"
)

const (
	// perSecond is how many requests well-behaved callers send, all together. They come when they are due, however
	// long others take.
	perSecond = 40
	// impatient is how many of them may be under way.
	impatient = 32
)

// bystanders are callers that stay within their limits while others do not.
type bystanders struct {
	mu    sync.Mutex
	codes map[string]map[int]int // by tier
}

// startBystanders has so many callers in turn read, write and charge, until over is called. do sends a request.
func startBystanders(callers int, do func(method, path, caller string) int) (over func(t *testing.T) *bystanders) {
	b := &bystanders{codes: map[string]map[int]int{"read": {}, "write": {}, "critical": {}}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		openloop.Run(ctx, openloop.Load{Rate: perSecond, For: 10 * time.Minute, Workers: impatient}, func(i int) {
			tier, method, path := "read", http.MethodGet, "/v1/charges?ms=5"
			switch i % 4 {
			case 1:
				tier, method, path = "write", http.MethodPost, "/v1/refunds?ms=5"
			case 3:
				tier, method, path = "critical", http.MethodPost, "/v1/charges?ms=5"
			}
			code := do(method, path, fmt.Sprint("bystander", i%callers))
			b.mu.Lock()
			defer b.mu.Unlock()
			b.codes[tier][code]++
		})
	}()
	return func(t *testing.T) *bystanders {
		t.Helper()
		cancel()
		<-ended
		t.Logf("bystanders: %.1f %% served: %v", 100*b.goodput(""), b.codes)
		return b
	}
}

// bystanders are others that use the command meanwhile. Each of them sends perSecond ÷ callers requests a second.
func (p *api) bystanders(callers int) (over func(t *testing.T) *bystanders) {
	return startBystanders(callers, func(method, path, caller string) int { return p.do(method, path, caller, "").code })
}

// goodput is the share of the requests of a tier, or of all for "", that were served.
func (b *bystanders) goodput(tier string) float64 {
	good, all := b.count(tier)
	return float64(good) / float64(max(1, all))
}

func (b *bystanders) count(tier string) (good, all int) {
	for of, codes := range b.codes {
		if tier != "" && tier != of {
			continue
		}
		for code, n := range codes {
			all += n
			if code == http.StatusOK {
				good += n
			}
		}
	}
	return good, all
}

// served asserts that others hardly noticed.
func (b *bystanders) served(t *testing.T) {
	t.Helper()
	b.servedOf(t, "")
}

// servedOf asserts that of a tier, or of all, nine of ten were served. Of a short test's few, two are no share.
func (b *bystanders) servedOf(t *testing.T, tier string) {
	t.Helper()
	good, all := b.count(tier)
	assert.Positive(t, all)
	assert.GreaterOrEqual(t, float64(good), 0.9*float64(all)-2, "others that were served: %v", b.codes)
}
