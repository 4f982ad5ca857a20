// Package faults breaks Redis, the network and instances under load, and holds Seawall to what it promises.
//
// Every fault is an entry of one catalogue (catalogue_test.go). A normal test run takes those that are marked
// short, for a second each, and judges by counts alone: what was served, which logins were admitted, which
// leases were left, how fallbacks are labelled. With SEAWALL_FAULTS=long, all faults run one after the other
// under 500 requests a second, latencies are judged too, and SEAWALL_FAULTS_DOC names the document that is
// written: docs/faults.md, by make faults. The run ends with how many were kept and how many were not, are left to other
// tests or to later, or cannot be run here: a partition takes a network namespace, which not every process may have.
//
// Leases have tests of their own (lease_*_test.go): what becomes of them when processes die, stand still or lose their
// Redis. A normal run takes them small; with SEAWALL_LEASES=long they run one after the other at full size, with
// processes of the payments example, and their times are judged (six minutes).
//
// A fault that is not there passes everything, so each is first shown to a client of its own.
//
// It is a module of its own, for its heavy dependencies are nobody else's.
package faults
