// Package sockets holds no code but tests, with real clients against a real server: that WebSockets, of two libraries, and
// streams of events hold their slots exactly as long as they are open, on memory and on Redis, and that nothing that ends a
// request leaks one.
//
// It is a module of its own, so that the libraries are no concern of Seawall's users.
package sockets
