package httpcontract

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Adapter is a framework's way to be guarded.
type Adapter struct {
	// Build returns the handler of an app, or the error that the adapter's ToMiddleware returns.
	Build func(t testing.TB, app App) (http.Handler, error)
	// Returns tells that a refusal is an error for outer middleware, not only an answer.
	Returns bool
	// Differs is what this framework makes of some of the requests of the suite's table of routes, by request line.
	Differs map[string]Answered
	// InGroup is what it makes of requests for what is not there, below a group that is guarded.
	InGroup map[string]Answered
}

// Answered is what a framework makes of a request.
type Answered struct {
	Status int
	// Route is the route that the layers see.
	Route string
	// Unseen tells that they do not see the request at all.
	Unseen bool
}

// App is what an adapter builds. The outermost is Outer, then Recover, Principal and the guards in their order.
type App struct {
	Guards []Guard
	Routes []Route
	// Group is the prefix of the routes that guards mounted on the group are around, such as "/v1".
	Group string
	// Outer, if there is one, is told what a middleware outside of everything has seen of a request.
	Outer func(Seen)
	// Recover tells to answer panics with 500.
	Recover bool
	// Principal, if there is one, is left for identity.Call's Get, under the name "principal", by an outer middleware.
	Principal func(r *http.Request) any
}

// Seen is what an outer middleware sees of an answer.
type Seen struct {
	Status int
	// Err is the error that it was returned, with frameworks whose handlers return errors.
	Err error
}

// Guard is a stack, mounted with what all adapters' configs have.
type Guard struct {
	Stack     *seawall.Stack
	Mount     Mount
	Identify  identity.Identify
	Tiers     map[string]seawall.Tier
	Classify  func(r *http.Request, tier seawall.Tier) seawall.Tier
	LongLived []string
	Headers   guard.Headers
	// Skip is the Skipper; nil is the adapter's default.
	Skip        func(r *http.Request) bool
	CountProbes bool
	// Deny answers refused requests; nil is the adapter's default.
	Deny func(w http.ResponseWriter, r *http.Request, refusal *guard.Refusal)
	// Error answers requests that cannot be identified; nil is the adapter's default.
	Error  func(w http.ResponseWriter, r *http.Request, err error)
	Logger *slog.Logger
}

// Mount is where a guard stands.
type Mount uint8

// The places: around the router's routes and what matches none, around those of the app's group, and around each route's
// handler.
const (
	Everywhere Mount = iota
	OnGroup
	OnRoutes
)

// Route is a route, its pattern as Seawall and Echo write it, such as "/v1/users/:id" and "/v1/files/*".
type Route struct {
	Method, Pattern string
	Handler         Handler
}

// Handler is a handler. Its error is answered as the framework answers unknown errors, with 500.
type Handler func(w http.ResponseWriter, r *http.Request) error
