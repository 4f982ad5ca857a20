package abuse

import "sync"

// gauges count what runs, by caller, and how much of it ran at most.
type gauges struct {
	mu        sync.Mutex
	now, most map[string]int
	total     int
	mostTotal int
	began     int
}

func newGauges() *gauges { return &gauges{now: map[string]int{}, most: map[string]int{}} }

func (g *gauges) add(caller string, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total += n
	g.mostTotal = max(g.mostTotal, g.total)
	if g.now[caller] += n; g.now[caller] == 0 {
		delete(g.now, caller)
	}
	g.began += max(0, n)
	g.most[caller] = max(g.most[caller], g.now[caller])
}

func (g *gauges) all() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total
}

// peak returns how much ran at most, of a caller and of all, and how much began.
func (g *gauges) peak(caller string) (own, all, began int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most[caller], g.mostTotal, g.began
}
