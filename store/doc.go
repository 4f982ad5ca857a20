// Package store is the room of the stores: memstore in process, redisstore on Redis, and storetest, the
// suite that every store must pass. What wraps any store lives in this package.
package store
