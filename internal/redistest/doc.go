// Package redistest starts real redis-server processes for tests: what a store does when Redis stalls, dies
// or comes back empty is best learnt from Redis.
//
// Every server listens on 127.0.0.1 on a port of its own, writes nothing but a log in the test's temporary
// folder, and is gone when its test ends. On Linux it is also gone when the test binary is killed or runs
// into its time limit; elsewhere such a server has to be killed by hand. One that speaks TLS has a certificate that
// its test made, beside the log.
//
// It is the redis-server on PATH, or what the environment variable SEAWALL_REDIS_SERVER names: another version of Redis,
// or Valkey. Without either, tests are skipped, or fail if SEAWALL_REQUIRE_REDIS is 1.
//
// Sentinels with a master and its replicas are such servers, too.
//
// It needs a Unix, as redis-server does.
package redistest
