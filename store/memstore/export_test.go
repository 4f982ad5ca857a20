package memstore

// States returns how many states are kept.
func (s *Store) States() int {
	n := 0
	for i := range s.shards {
		n += len(s.shards[i].states)
	}
	return n
}
