// Package abuse holds no code but tests, of clients that mean harm: slow ones, ones that hang up, ones that storm, and ones
// that choose their keys, paths and bytes so that something grows, breaks or lets them pass. While they do, others are
// served; when they stop, nothing is left of them: no slot, no memory, no series.
//
// Most tests attack the payments command, a process of its own. With SEAWALL_ABUSE=long they attack with all their might
// and print what they saw; otherwise with a part of it, which is long enough to find what leaks.
//
// It is a module of its own, so that the libraries are no concern of Seawall's users.
package abuse
