// Package clients holds tests of clients that Seawall's users have: that they wait as long as a refusal says, and then get
// what they asked for. It also holds one small client, Retry, which docs/clients.md shows.
//
// It is a module of its own, so that the clients are no concern of Seawall's users.
package clients
