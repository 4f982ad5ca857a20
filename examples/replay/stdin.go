package main

import (
	"context"
	"io"
)

// interruptible is the reader until ctx is done. A read of standard input cannot be broken off, so it is left to a goroutine, which
// ends with the input or with the program.
func interruptible(ctx context.Context, in io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err) // which always succeeds
	}()
	context.AfterFunc(ctx, func() { _ = r.CloseWithError(ctx.Err()) })
	return r
}
