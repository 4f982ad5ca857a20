// Package storetest is the suite that every seawall.Store must pass, and a comparison of two stores over
// random traces. A store's own test is a few lines:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Subject { … })
//	}
package storetest
