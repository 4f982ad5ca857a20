package redisstore

// MembersScript returns the text of a heartbeat's script.
func MembersScript() string { return membersLua }

// ReadBeat reads the numbers of a heartbeat's reply.
func ReadBeat(reply []any) ([]int64, error) {
	numbers, _, err := readBeat(reply)
	return numbers, err
}
