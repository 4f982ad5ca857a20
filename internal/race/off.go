//go:build !race

// Package race tells tests whether they run with the race detector, which takes time, allocates, and takes memory of its own.
package race

// Detector tells whether it is there.
const Detector = false
