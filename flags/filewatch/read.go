package filewatch

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// MaxSize bounds a file, in bytes; what is larger is none.
const MaxSize = 1 << 20

// Read is os.ReadFile of a regular file of at most MaxSize bytes. A pipe or a device would block it, or never
// end.
func Read(path string) ([]byte, error) {
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
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(data) > MaxSize {
		err = fmt.Errorf("%s is larger than %d bytes", path, MaxSize)
	}
	return data, err
}
