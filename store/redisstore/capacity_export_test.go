package redisstore

// MembersScript returns the text of a heartbeat's script.
func MembersScript() string { return membersLua }
