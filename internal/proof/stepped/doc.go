// Package stepped gives the scripts of an unmodified redisstore a clock that moves when it is told, on a real
// Redis.
//
// A store sends its scripts through the client it is given. That client has a hook here, which puts a few lines
// ahead of each script. In them "redis" is a stand-in that asks Redis for everything, save two things that
// follow the stepped clock: what TIME answers, and when keys expire. So production's own scripts run, every
// line of them.
//
// What the store itself believes of the time is the real time. A stepped clock that is far from it is one that
// the store guesses wrong, as it must be able to.
package stepped
