package cgroup

import "time"

// resolveAfter is how long groups are believed to be where they were found.
const resolveAfter = 10 * time.Second

// resolved keeps what resolve has found, until it is old or forgotten.
type resolved[T any] struct {
	resolve func() (T, error)
	value   T
	at      time.Duration
	known   bool
}

func (r *resolved[T]) get(now time.Duration) (T, error) {
	if r.known && now >= r.at && now-r.at < resolveAfter {
		return r.value, nil
	}
	value, err := r.resolve()
	r.value, r.at, r.known = value, now, err == nil
	return value, err
}

// forget makes the next get look again.
func (r *resolved[T]) forget() { r.known = false }
