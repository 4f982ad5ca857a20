package memstore //nolint:testpackage // where slots lie is nobody's business

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestASlotLiesOnOneCacheLine has tables of all sizes made.
func TestASlotLiesOnOneCacheLine(t *testing.T) {
	for n := 1; n < 100_000; n *= 2 {
		slots := newTable(n).slots
		at, err := strconv.ParseUint(strings.TrimPrefix(fmt.Sprintf("%p", slots), "0x"), 16, 64)
		require.NoError(t, err)
		assert.Zero(t, at%32, "%d places", len(slots))
		assert.Len(t, slots, placesFor(n))
	}
}
