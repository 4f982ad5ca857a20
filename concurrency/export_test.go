package concurrency

import "github.com/seawall-go/seawall"

// Waiting is how many stand in line for the key's slots.
func (l *Limiter) Waiting(key seawall.Key) int { return l.lines.Len(key) }
