package guard

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Config says how HTTP requests become seawall.Requests. The zero Config works: callers are client addresses, and tiers
// go by method.
type Config struct {
	// Identify says who asks; nil is identity.Hasher.ByAddress by the secret that the stack's store shares.
	Identify identity.Identify
	// Tiers says how important the requests of a route are, by "METHOD /pattern" as registered with the router, such as
	// "POST /v1/charges"; the method "*" is all others. What is not in it goes by method: GET, HEAD and OPTIONS are reads,
	// everything else is a write. HEAD goes as GET of the same route.
	Tiers map[string]seawall.Tier
	// Classify may change what Tiers or the method says, for what a table cannot tell; nil leaves it. It must not ask a
	// header that any client can send. A key of test mode counts, whatever it says.
	Classify func(c identity.Call, tier seawall.Tier) seawall.Tier
	// LongLived are the routes, "METHOD /pattern", whose requests last as long as their client likes, such as WebSockets and
	// streams of events. They have a cap of their own (concurrency.Config) and are outside the fleet's and this instance's
	// workers. What they hold is given back when their handler has returned and a connection that it has taken over is
	// closed; of other requests, when their handler has returned.
	LongLived []string
	// Headers says how clients are told what is left; zero is Draft11.
	Headers Headers
	// Logger is told what is misconfigured; nil is slog.Default().
	Logger *slog.Logger
}

// Guard decides about requests. It is safe for concurrent use.
type Guard struct {
	stack     *seawall.Stack
	identify  identity.Identify
	tiers     identity.Routes[seawall.Tier]
	classify  func(c identity.Call, tier seawall.Tier) seawall.Tier
	longLived identity.Routes[bool]
	headers   Headers
	texts     policyTexts
	log       *slog.Logger
	byAddress identity.Identify // if identify panics
	warned    atomic.Bool       // of a proxy
	logged    atomic.Int64      // when a panic was, in Unix nanoseconds
	looked    sync.Once         // for routes that are not registered
}

// New returns a Guard. A route that could never match is an error.
func New(s *seawall.Stack, cfg Config) (*Guard, error) {
	if s == nil {
		return nil, errors.New("the Stack is nil; want one from seawall.New")
	}
	if cfg.Headers > NoHeaders {
		return nil, fmt.Errorf("Config.Headers is %d; want Draft11, Draft07, XRateLimit or NoHeaders", cfg.Headers)
	}
	g := &Guard{stack: s, identify: cfg.Identify, classify: cfg.Classify, headers: cfg.Headers, log: cfg.Logger}
	if g.log == nil {
		g.log = slog.Default()
	}
	var err error
	if g.tiers, err = tiersOf(cfg.Tiers); err != nil {
		return nil, fmt.Errorf("Config.Tiers: %w", err)
	}
	if g.longLived, err = identity.RouteSet(cfg.LongLived); err != nil {
		return nil, fmt.Errorf("Config.LongLived: %w", err)
	}
	ofAddresses := identity.Config{Logger: slog.New(slog.DiscardHandler)} // by a secret of this process alone
	if g.identify == nil {
		ofAddresses = identity.Config{Shared: s, Logger: g.log}
	}
	h, err := identity.NewHasher(ofAddresses)
	if err != nil {
		return nil, err
	}
	g.byAddress = h.ByAddress()
	if g.identify == nil {
		g.identify = g.byAddress
	}
	return g, nil
}

// Receive begins the passage of a request on a route. Done is to be called in any case, also by a panic.
func (g *Guard) Receive(p *Passage, r *http.Request, route string) {
	of := &p.own.request
	longLived, _ := g.longLived.Find(r.Method, route)
	if longLived {
		of = new(seawall.Request)
	}
	of.Route, of.Tier, of.LongLived = route, g.tier(r.Method, route), longLived
	if earlier, ok := r.Context().Value(requestKey{}).(*seawall.Request); ok {
		of.Continue(earlier)
	}
	p.within = within{r.Context(), of}
}

// Enter decides about a request that was received. It sets the headers that clients are told by. Afterwards the handler
// runs, or the refusal is answered, or the error, if the request could not be identified.
func (g *Guard) Enter(p *Passage, c identity.Call) (*Refusal, error) {
	// What is the framework's is taken now: an Identify may wait for a body, and behind a timeout of the framework's own its
	// context may be another request's by then.
	ctx, header, r := p.within.Context, c.Response().Header(), p.within.request
	if g.stack.Off() {
		return nil, nil
	}
	err := g.identified(c, r)
	if err != nil {
		if _, limited := errors.AsType[*identity.Error](err); !limited || r.Key.IsZero() {
			return nil, err
		}
	}
	if p.admission = &p.own.admission; r.LongLived {
		p.admission = new(seawall.Admission)
	}
	g.stack.AdmitTo(ctx, p.admission, r)
	refusal := refusalOf(p.admission)
	g.tell(header, p, refusal)
	if refusal != nil {
		refusal.setHeaders(header)
		return refusal, nil
	}
	return nil, err
}

// identified classifies a request and says who asks. If the application's part in it panics, the request goes on as one of
// its client address.
func (g *Guard) identified(c identity.Call, r *seawall.Request) (err error) {
	tier := r.Tier
	defer func() {
		if v := recover(); v != nil {
			if v == http.ErrAbortHandler { //nolint:errorlint // a panic's value
				panic(v)
			}
			g.panicked(v)
			err = g.anonymous(c, r, tier)
		}
	}()
	if g.classify != nil {
		r.Tier = g.classify(c, r.Tier)
	}
	return g.identify(c, r)
}

// anonymous has nothing but a client address. If the application's part in that panics too, not even this.
func (g *Guard) anonymous(c identity.Call, r *seawall.Request, tier seawall.Tier) error {
	r.Key, r.More, r.Tier, r.Cost, r.Plan, r.Name, r.Authenticated = seawall.Key{}, nil, tier, 0, "", "", false
	defer func() { _ = recover() }()
	return g.byAddress(c, r)
}

// panicked logs a panic of the application's, at most once a second. Its value may hold what a caller has sent.
func (g *Guard) panicked(v any) {
	now, last := time.Now().UnixNano(), g.logged.Load()
	if now-last < int64(time.Second) && now >= last || !g.logged.CompareAndSwap(last, now) {
		return
	}
	what := fmt.Sprintf("a %T", v)
	if e, ok := v.(runtime.Error); ok {
		what = e.Error()
	}
	g.log.Error("seawall: Identify or Classify panicked; the request counts as one of its client address",
		"panic", what, "stack", string(debug.Stack()))
}

// tier is how important a request is by its route and method.
func (g *Guard) tier(method, route string) seawall.Tier {
	if tier, ok := g.tiers.Find(method, route); ok {
		return tier
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return seawall.Read
	}
	return seawall.Write
}

// Untrusting is called by adapters where no proxy is trusted. It says so once if there seems to be one: all clients
// behind it then are one address.
func (g *Guard) Untrusting(h http.Header, whatToDo string) {
	if len(h["X-Forwarded-For"]) == 0 && len(h["Forwarded"]) == 0 && len(h["X-Real-Ip"]) == 0 {
		return
	}
	if !g.warned.Load() && g.warned.CompareAndSwap(false, true) {
		g.log.Warn("seawall: a request has come through a proxy, or says so, and no proxy is trusted: if there is one, all clients behind it count as one address",
			"do", whatToDo)
	}
}

// Registered is called by adapters with what tells whether a route is registered, once the application is complete. It says
// once which routes of Tiers and LongLived are not.
func (g *Guard) Registered(is func(method, pattern string) bool) {
	g.looked.Do(func() {
		for method, pattern := range g.routes() {
			if !is(method, pattern) {
				g.log.Warn("seawall: Tiers or LongLived name a route that is not registered", "route", method+" "+pattern)
			}
		}
	})
}

func (g *Guard) routes() iter.Seq2[string, string] {
	return func(yield func(method, pattern string) bool) {
		for method, pattern := range g.tiers.All() {
			if !yield(method, pattern) {
				return
			}
		}
		g.longLived.All()(yield)
	}
}
