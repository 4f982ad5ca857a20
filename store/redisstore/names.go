package redisstore

import (
	"strings"

	"github.com/seawall-go/seawall"
)

// nameOf is the Redis key of a limit's state for a caller. The caller's text holds no brace, and is at most
// 44 bytes long: with the longest namespace, layer and policy that makes 128. What is limited for the fleet
// is never compact: its scripts also read the fleet's capacity, which must be in the same slot.
func (i *instance) nameOf(k seawall.Key, l *seawall.Limit) string {
	if i.compact != nil && k != seawall.FleetKey() {
		return i.compact.nameOf(k, l)
	}
	return i.namespace + ":{" + k.String() + "}:" + l.Name()
}

// fleetName is the Redis key of something that the store keeps about the fleet.
func (i *instance) fleetName(what string) string {
	return i.namespace + ":{" + seawall.FleetKey().String() + "}:" + what
}

// tagged is what the names of a caller's keys have in common: the tag, in braces, by which Redis Cluster places them.
func (i *instance) tagged(k seawall.Key) string {
	if i.compact != nil && k != seawall.FleetKey() {
		return string(i.compact.appendTag(nil, k))
	}
	return "{" + k.String() + "}"
}

// tagOf is the tag of a key's name, with its braces.
func tagOf(name string) string {
	from, to := strings.IndexByte(name, '{'), strings.IndexByte(name, '}')
	return name[from : to+1]
}
