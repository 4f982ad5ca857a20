package sim

import (
	"container/heap"
	"fmt"
	"time"
)

// Discipline is what happens to requests when all workers are busy.
type Discipline uint8

const (
	// Line has requests wait until a worker is free, first come, first served: a pool of workers or connections.
	Line Discipline = iota
	// Share has all of them slow each other down: handlers that need the CPU.
	Share
	// Free has none of them wait: handlers that wait for something else.
	Free
)

func (d Discipline) String() string {
	if d > Free {
		return fmt.Sprintf("Discipline(%d)", uint8(d))
	}
	return [...]string{"Line", "Share", "Free"}[d]
}

// job is a request that the service has.
type job struct {
	attempt *attempt
	work    time.Duration
	end     time.Duration // for Share the progress at which it ends
	order   int
	began   bool
	gone    bool
}

// service works on jobs. In Share, progress is how much work each job has been given since the start.
type service struct {
	discipline Discipline
	workers    int
	slow       Curve
	running    jobs
	waiting    []*job
	head       int // of waiting
	dropped    int // of waiting
	count      int // jobs that have begun
	progress   time.Duration
	at         time.Duration
}

// advance brings progress to now. Nothing begins or ends on the way.
func (s *service) advance(now time.Duration) {
	if s.discipline == Share {
		s.progress += time.Duration(float64(now-s.at) * s.speed())
	}
	s.at = now
}

// speed is how fast a job advances, at most 1.
func (s *service) speed() float64 {
	if n := len(s.running); n > s.workers {
		return float64(s.workers) / float64(n)
	}
	return 1
}

// add begins a job, or has it wait.
func (s *service) add(j *job) {
	if s.discipline == Line && len(s.running) >= s.workers {
		s.waiting = append(s.waiting, j)
		return
	}
	s.begin(j)
}

func (s *service) begin(j *job) {
	j.began = true
	since := s.at
	if s.discipline == Share {
		since = s.progress
	}
	j.end = since + duration(float64(j.work)*s.slow(s.at))
	s.count++
	j.order = s.count
	heap.Push(&s.running, j)
}

// next is when the next job ends.
func (s *service) next() time.Duration {
	switch {
	case len(s.running) == 0:
		return never
	case s.discipline == Share:
		// rounded up, or the progress would fall short of it for ever
		return s.at + time.Duration(float64(s.running[0].end-s.progress)/s.speed()) + 1
	}
	return s.running[0].end
}

// end takes the job that is done out, and lets those that wait begin.
func (s *service) end() *job {
	j := heap.Pop(&s.running).(*job) //nolint:forcetypeassert // there is nothing else in it
	s.fill()
	return j
}

// fill lets jobs begin for which there are workers.
func (s *service) fill() {
	for len(s.running) < s.workers && s.head < len(s.waiting) {
		j := s.waiting[s.head]
		s.waiting[s.head] = nil
		s.head++
		if j.gone {
			s.dropped--
			continue
		}
		s.begin(j)
	}
	if s.head > 1024 && s.head > len(s.waiting)/2 {
		s.waiting = append(s.waiting[:0], s.waiting[s.head:]...)
		s.head = 0
	}
}

// drop takes a job out that waits, if it does.
func (s *service) drop(j *job) bool {
	if j.began || j.gone {
		return false
	}
	j.gone = true
	s.dropped++
	return true
}

// queued is how many wait, or in Share are more than there are workers.
func (s *service) queued() int {
	switch s.discipline {
	case Line:
		return len(s.waiting) - s.head - s.dropped
	case Share:
		return max(0, len(s.running)-s.workers)
	}
	return 0
}
