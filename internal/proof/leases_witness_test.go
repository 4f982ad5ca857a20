//go:build unix

package proof

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// witness counts, in memory that processes share, how many slots of each caller are in use. It knows nothing of
// leases: a slot is in use from when its request was told so until it begins to give it back.
type witness struct {
	callers *[loadCallers]struct {
		now, most, over atomic.Int64 // over is how often there were more than the cap
	}
}

// newWitness returns a witness and the file that it lies in.
func newWitness(t *testing.T) (witness, string) {
	f, err := os.CreateTemp(t.TempDir(), "witness")
	require.NoError(t, err)
	require.NoError(t, f.Truncate(int64(unsafe.Sizeof(*witness{}.callers))))
	require.NoError(t, f.Close())
	w, err := openWitness(f.Name())
	require.NoError(t, err)
	return w, f.Name()
}

// openWitness returns the witness in a file, for as long as the process lives.
func openWitness(path string) (w witness, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return w, err
	}
	defer f.Close()
	memory, err := syscall.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(*w.callers)), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return w, fmt.Errorf("sharing %s: %w", path, err)
	}
	w.callers = (*[loadCallers]struct{ now, most, over atomic.Int64 })(unsafe.Pointer(&memory[0]))
	return w, nil
}

// enters says that a caller uses so many slots more.
func (w witness) enters(caller int, slots int64) {
	c := &w.callers[caller]
	n := c.now.Add(slots)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	if n > loadCap(caller) {
		c.over.Add(1)
	}
}

// leaves says that it does not use them any more.
func (w witness) leaves(caller int, slots int64) { w.callers[caller].now.Add(-slots) }
