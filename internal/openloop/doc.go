// Package openloop generates load by a schedule: calls begin when they are due, whether or not earlier ones
// have ended, as requests of many independent clients do. A call that begins late, because all workers are
// stuck in others, has waited since it was due, and its latency says so. A load that waits for each answer
// before it asks again measures a stall once; this one measures it for everybody who would have met it.
package openloop
