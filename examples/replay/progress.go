package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// shown is a progress bar by the bytes that were read.
type shown struct {
	bar  *progressbar.ProgressBar // nil: nobody looks
	stop chan struct{}
	over sync.WaitGroup
}

// show shows how far the logs were read, how fast, and how long it may still take, if w is a terminal.
func show(w io.Writer, logs []*log) *shown {
	s := &shown{stop: make(chan struct{})}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.start(w, logs)
	return s
}

func (s *shown) start(w io.Writer, logs []*log) {
	size := int64(-1) // not known
	for _, l := range logs {
		_, n := l.Position()
		if n <= 0 {
			size = -1
			break
		}
		size = max(size, 0) + n
	}
	s.bar = progressbar.NewOptions64(size, progressbar.OptionSetWriter(w), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription("replaying"), progressbar.OptionShowElapsedTimeOnFinish(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish())
	s.over.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-s.stop:
				return
			}
			read := int64(0)
			for _, l := range logs {
				n, _ := l.Position()
				read += n
			}
			_ = s.bar.Set64(read) // a terminal that is gone
		}
	})
}

// end takes the bar away.
func (s *shown) end() {
	if s.bar == nil {
		return
	}
	close(s.stop)
	s.over.Wait()
	_ = s.bar.Finish() // a terminal that is gone
}
