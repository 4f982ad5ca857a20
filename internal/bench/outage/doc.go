// Package outage measures Seawall beside its peers while Redis is away.
//
// An open loop asks each limiter for decisions; meanwhile its Redis is frozen or killed, and comes back. A
// short run is an ordinary test. The tables of docs/faults.md take two minutes:
//
//	SEAWALL_OUTAGE_DOC=../../../docs/faults.md go test -run TestPeersInAnOutage -count=1 -timeout 30m -v .
package outage
