//go:build !race

package seawall_test

const raceDetector = false
