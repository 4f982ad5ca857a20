package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// through sends requests through a reorder.
func through(window time.Duration, starts []int64) (order []request, late int64) {
	o := newReorder(window)
	for i, start := range starts {
		o.push(request{start: start, seq: int64(i)})
		for r, ok := o.pop(false); ok; r, ok = o.pop(false) {
			order = append(order, r)
		}
	}
	for r, ok := o.pop(true); ok; r, ok = o.pop(true) {
		order = append(order, r)
	}
	return order, o.late
}

// TestReorderIsAStableSort wherever nothing comes later than the window.
func TestReorderIsAStableSort(t *testing.T) {
	const window = 50
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		starts := make([]int64, 300)
		want := make([]request, len(starts))
		for i := range starts {
			starts[i] = 1000 + int64(i)/3 + rnd.Int64N(window/2) // at most half a window later than another
			want[i] = request{start: starts[i], seq: int64(i)}
		}
		slices.SortStableFunc(want, func(a, b request) int { return int(a.start - b.start) })
		got, late := through(window, starts)
		require.Equal(t, want, got, "seed %d", seed)
		require.Zero(t, late)
	}
}

func TestWhatIsTooLateIsCountedAndNotLost(t *testing.T) {
	got, late := through(10, []int64{100, 130, 95, 131, 120, 150})
	var starts []int64
	for _, r := range got {
		starts = append(starts, r.start)
	}
	assert.Equal(t, []int64{100, 95, 120, 130, 131, 150}, starts)
	assert.EqualValues(t, 1, late, "95 comes when 100 has gone; 120 is in time")
}

// TestReorderIsBounded however long the window is.
func TestReorderIsBounded(t *testing.T) {
	o := newReorder(time.Hour)
	most := 0
	for i := range int64(maxWaiting + 1000) {
		o.push(request{start: 1 + i, seq: i})
		for _, ok := o.pop(false); ok; _, ok = o.pop(false) {
		}
		most = max(most, len(o.waiting))
	}
	assert.Equal(t, maxWaiting, most)
}
