package seawall

import (
	"slices"
	"sync"
)

// Lines are queues, by key, of those in this process who wait for what a limiter will admit later. They are for
// limiters. The zero Lines are empty, and so is a line that nobody stands in. They are safe for concurrent use.
type Lines struct {
	mu    sync.Mutex
	lines map[Key][]*Place
}

// Place is somebody's place in a line.
type Place struct {
	key   Key
	turn  chan struct{}
	nudge chan struct{}
}

// Turn is closed when the place is the first of its line.
func (p *Place) Turn() <-chan struct{} { return p.turn }

// Nudged receives when it is worth asking again at once.
func (p *Place) Nudged() <-chan struct{} { return p.nudge }

// Join gets in line behind those who came before. It fails if there are as many already; a most of zero is no bound.
// Leave must be called.
func (l *Lines) Join(key Key, most int) (p *Place, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[key]
	if most > 0 && len(line) >= most {
		return nil, false
	}
	if l.lines == nil {
		l.lines = map[Key][]*Place{}
	}
	p = &Place{key, make(chan struct{}), make(chan struct{}, 1)}
	l.lines[key] = append(line, p)
	if len(line) == 0 {
		close(p.turn)
	}
	return p, true
}

// Leave gives the place up, and the turn to the next one.
func (l *Lines) Leave(p *Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[p.key]
	i := slices.Index(line, p)
	if line = slices.Delete(line, i, i+1); len(line) == 0 {
		delete(l.lines, p.key)
		return
	}
	l.lines[p.key] = line
	if i == 0 {
		close(line[0].turn)
	}
}

// Len is how many stand in a line.
func (l *Lines) Len(key Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines[key])
}

// Nudge has the first of a line ask again at once.
func (l *Lines) Nudge(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if line := l.lines[key]; len(line) > 0 {
		select {
		case line[0].nudge <- struct{}{}:
		default:
		}
	}
}
