package redisstore

import "github.com/seawall-go/seawall"

// nameOf is the Redis key of a limit's state for a caller. The caller's text holds no brace, and is at most
// 44 bytes long: with the longest namespace, layer and policy that makes 128. What is limited for the fleet
// is never compact: its scripts also read the fleet's capacity, which must be in the same slot.
func (s *Store) nameOf(k seawall.Key, l *seawall.Limit) string {
	if s.compact != nil && k != seawall.FleetKey() {
		return s.compact.nameOf(k, l)
	}
	return s.namespace + ":{" + k.String() + "}:" + l.Name()
}

// fleetName is the Redis key of something that the store keeps about the fleet.
func (s *Store) fleetName(what string) string {
	return s.namespace + ":{" + seawall.FleetKey().String() + "}:" + what
}
