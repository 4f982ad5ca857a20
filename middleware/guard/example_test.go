package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// call is a request of a framework that hands its handlers a map of what earlier ones have left.
type call struct {
	guard.Passage
	w    http.ResponseWriter
	r    *http.Request
	left map[string]any
}

func (c *call) Request() *http.Request        { return c.r }
func (c *call) Response() http.ResponseWriter { return c.w }
func (c *call) Route() string                 { return c.r.Pattern }
func (c *call) Address() string               { return c.r.RemoteAddr }
func (c *call) Get(name string) any           { return c.left[name] }

type handler func(w http.ResponseWriter, r *http.Request, left map[string]any) error

// around is the whole of an adapter: a refusal and what makes a request unidentifiable are errors that render as problems.
func around(g *guard.Guard, next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, left map[string]any) error {
		c := &call{w: w, r: r, left: left}
		defer c.Done()
		g.Receive(&c.Passage, r, c.Route())
		if refusal, err := g.Enter(&c.Passage, c); err != nil {
			return err
		} else if refusal != nil {
			return refusal
		}
		return next(c.Hold(w), c.Inside(r), left)
	}
}

// An adapter for another framework.
func Example() {
	store := memstore.New(memstore.Config{})
	defer store.Close(context.Background())
	limits, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(1), 1)},
	}})
	if err != nil {
		panic(err)
	}
	stack, err := seawall.New(seawall.Config{Store: store}, limits)
	if err != nil {
		panic(err)
	}
	g, err := guard.New(stack, guard.Config{})
	if err != nil {
		panic(err)
	}
	guarded := around(g, func(w http.ResponseWriter, _ *http.Request, _ map[string]any) error {
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	for range 2 {
		w := httptest.NewRecorder()
		err := guarded(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody), map[string]any{})
		problem, _ := json.Marshal(err)
		fmt.Println(w.Header().Get("RateLimit"), string(problem))
	}
	// Output:
	// "api";r=0;t=60 null
	// "api";r=0;t=60 {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too many requests","status":429,"detail":"You have sent too many requests. Retry after 60 s. Spread requests evenly to stay below the limit.","limiter":"ratelimit","policy":"api","retry_after":60,"violated-policies":["api"]}
}
