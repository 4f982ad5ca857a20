// Package bench measures Seawall beside its peers, in a module of its own so that nobody who uses Seawall
// downloads them.
//
// # Peers in an outage
//
// An open loop asks each limiter for decisions; meanwhile its Redis is frozen or killed, and comes back. A
// short run is an ordinary test. The tables of docs/faults.md take two minutes:
//
//	SEAWALL_OUTAGE_DOC=../../docs/faults.md go test -run TestPeersInAnOutage -count=1 -timeout 30m -v .
package bench
