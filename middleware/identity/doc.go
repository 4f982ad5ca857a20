// Package identity says who asks: it fills in the key of a [seawall.Request] from an API key, from a principal that the
// application has authenticated, or from the client's address.
//
// No key tells what it was made from. API keys, accounts and addresses are hashed by a [Hasher]: 128 bits of their
// HMAC-SHA-256, keyed by a secret of the deployment or, where it was given none, by one that the instances agree on
// through their store.
//
// A caller cannot choose to be somebody else's key, but it can choose a key that nobody has: whoever invents API keys
// gets a quota for each. So mount Seawall behind what authenticates, or give [APIKey.Verify], or add a policy on
// addresses. Forwarding headers are believed only if the framework was told which proxies to trust. Credentials that
// contradict each other, such as two Authorization headers, are none.
//
// The package knows no web framework: the adapters in middleware, middleware/echov5 and middleware/nethttp show it each
// request as a [Call].
package identity
