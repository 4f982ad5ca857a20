package concurrency

import "github.com/seawall-go/seawall"

// Waiting is how many stand in line for a policy's slots of the key.
func (l *Limiter) Waiting(policy string, key seawall.Key) int {
	return l.lines.Len(seawall.NewKey(policy, key.String()))
}
