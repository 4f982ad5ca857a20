package faults

import "slices"

// catalogue is all faults by number. Those up to 59 are from the list that the project began with; a number is
// a name, and stays when others come and go.
func catalogue() []fault {
	all := slices.Concat(stalls(), replies(), network(), handshakes(), losses(), failovers(), times(), fleets(), processes(), panics(), partitions(), exporters(), deploys(), elsewhere())
	slices.SortFunc(all, func(a, b fault) int { return a.number - b.number })
	return all
}
