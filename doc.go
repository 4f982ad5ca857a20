// Package seawall protects HTTP APIs with four limiters that decide together.
//
// Every limiter turns a request into checks, which are data, and a store evaluates all the checks of one
// request in one atomic step: all of them admit and every state moves, or one denies and nothing moves.
//
//	             identify, classify      local verdicts       plan              apply (1 hop)
//	HTTP request ─────────────────▶ Request ─────▶ workershed ─────▶ []Check ──▶ Store ──▶ []Result
//	                                                                                │
//	response ◀──── headers, problem+json ◀──── Decision ◀──────── decide ───────────┘
//	    └─ when the handler has returned: done (in-flight counters down, leases released)
//
// This package is the vocabulary ([Request], [Check], [Result], [Rule], [Store], [Layer]) and the engine
// ([Stack]). It imports the standard library only. Limiters, stores and web frameworks live in folders of
// their own and import it; it imports none of them.
//
// # Several layers, several modes
//
// A layer is enforced, log-only or off ([Mode]), and so is each of its policies; the laxer of the two wins.
//
//   - Enforced checks commit if and only if every enforced check admits.
//   - Advisory (log-only) checks commit if and only if every check and every local verdict of the request
//     admits, so that their state evolves as if everything were enforced.
//   - The first refusal in layer order is counted: denied if enforced, would_deny if advisory. After an
//     advisory one the walk goes on to the first enforced one. What lies behind it is skipped.
//   - Off and log-only win over every failure policy.
//
// Hence all layers log-only refuse, in what is counted, the requests that all layers enforced would refuse, and so does one
// layer alone; and in any mixture log-only checks never change what enforced ones decide. The module internal/proof draws
// traces that show it, on both stores. Stacks that are mounted one by one decide one by one: behind a refusal that is
// log-only the next one is asked as if there had been none.
//
// # Invariants
//
// While the store is up, for every rule, on every store, under any number of clients and instances:
//
//   - I1: a limit never over-admits; rounding errs towards admitting less.
//   - I2: a denial costs nothing, in every check of the request.
//   - I3: RetryAfter of a rate rule is exact: after it the same request alone is admitted, before it not.
//   - I4: remaining, limit and reset describe the state that the decision left.
//   - I5: idle state disappears.
//   - I6: there is one clock, the store's.
//
// And whatever fails inside Seawall, the API keeps serving: if the store cannot be asked in time, requests are
// admitted, except by limits declared [FailClosed]. A wrapper of the store may know better: the package store
// has one that still decides slots, by what this instance has in flight.
package seawall
