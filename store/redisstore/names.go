package redisstore

import "github.com/seawall-go/seawall"

// nameOf is the Redis key of a limit's state for a caller. The caller's text holds no brace, and is at most
// 44 bytes long: with the longest namespace, layer and policy that makes 128.
func (s *Store) nameOf(k seawall.Key, l *seawall.Limit) string {
	return s.namespace + ":{" + k.String() + "}:" + l.Name()
}

// fleetName is the Redis key of something that the store keeps about the fleet.
func (s *Store) fleetName(what string) string {
	return s.namespace + ":{" + seawall.FleetKey().String() + "}:" + what
}
