// Package arrows holds no code: its test asserts which packages may import which, so that changing a limiter
// means opening one folder and an app that needs no Redis links no Redis client.
package arrows
