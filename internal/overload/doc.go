// Package overload has the worker shedder protect a real process: the payments command, whose requests burn processor time,
// under an open-loop load of three times what it can do, with the shedder off and with the shedder enforced. The tests
// measure. A short form asserts what holds on any machine; with SEAWALL_OVERLOAD=long they take a few minutes and write what
// they saw into measured.json, if SEAWALL_OVERLOAD_RECORD says where that is. What is written there is in the binary:
// internal/plots draws it, and writes the tables of docs/overload.md.
//
// It is a module of its own, so that the libraries are no concern of Seawall's users.
package overload
