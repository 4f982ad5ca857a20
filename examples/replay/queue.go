package main

// ordered is what a queue can hold: each knows whether it comes before another.
type ordered[E any] interface {
	*E
	before(other *E) bool
}

// queue is a binary heap, the first element in front. That of container/heap allocates for each element.
type queue[E any, P ordered[E]] []E

func (q *queue[E, P]) push(e E) {
	*q = append(*q, e)
	all := *q
	for i := len(all) - 1; i > 0; {
		parent := (i - 1) / 2
		if !P(&all[i]).before(&all[parent]) {
			break
		}
		all[i], all[parent] = all[parent], all[i]
		i = parent
	}
}

// pop takes the first element out of a queue that is not empty.
func (q *queue[E, P]) pop() E {
	all := *q
	first, last := all[0], len(all)-1
	all[0] = all[last]
	clear(all[last:])
	all = all[:last]
	*q = all
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if P(&all[child]).before(&all[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		all[i], all[least] = all[least], all[i]
		i = least
	}
}
