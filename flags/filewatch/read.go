package flags

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxFile bounds a flag file, in bytes; what is larger is none.
const maxFile = 1 << 20

// readFile is os.ReadFile of a regular file of at most maxFile bytes. A pipe or a device would block it, and
// Shutdown with it, or never end.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return data, err
}
