package main

import "time"

// series is how many requests came, and how many of them were refused, in equal parts of the time. The parts grow as that does.
type series struct {
	from  int64
	width int64
	parts []part
}

type part struct{ requests, refused int64 }

// maxParts is how many parts a series has at most: more than a picture shows.
const maxParts = 600

func (s *series) add(at int64, refused bool) {
	if len(s.parts) == 0 {
		s.width = int64(time.Second)
		s.from = at - at%s.width
	}
	i := max(0, (at-s.from)/s.width)
	for ; i >= maxParts; i = (at - s.from) / s.width {
		s.halve()
	}
	for int64(len(s.parts)) <= i {
		s.parts = append(s.parts, part{})
	}
	s.parts[i].requests++
	if refused {
		s.parts[i].refused++
	}
}

// halve has each part be two of before.
func (s *series) halve() {
	s.width *= 2
	half := s.parts[:0]
	for i := 0; i < len(s.parts); i += 2 {
		p := s.parts[i]
		if i+1 < len(s.parts) {
			p.requests += s.parts[i+1].requests
			p.refused += s.parts[i+1].refused
		}
		half = append(half, p)
	}
	s.parts = half
}
