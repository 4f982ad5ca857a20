package sim

import "time"

// ImpatientClients is the one scenario in which log-only does not tell what enforcement would do, see the package's documentation.
const ImpatientClients = "impatient clients"

// Scenarios are the situations in which the constants of a shedder are judged.
func Scenarios() []Scenario {
	m := time.Minute
	overload := Span{2 * m, 7 * m}
	spike := Span{2 * m, 2*m + 10*time.Second}
	day := Span{12 * m, 28 * m}
	storm := Retry{Times: 3, After: 100 * time.Millisecond}
	return []Scenario{
		{Name: "1.5x", For: 16 * m, Load: During(overload, 1.5, 0.5), Overload: overload},
		{Name: "3x", For: 16 * m, Load: During(overload, 3, 0.5), Overload: overload},
		{Name: "10 s spike", For: 6 * m, Load: During(spike, 4, 0.5), Overload: spike},
		{Name: "slow dependency", For: 16 * m, Load: Always(0.5), Slow: During(overload, 4, 1), Overload: overload, Patience: 6 * time.Second},
		{Name: "slow dependency, no pool", For: 16 * m, Discipline: Free, Load: Always(0.5), Slow: During(overload, 4, 1), Overload: overload, Patience: 6 * time.Second},
		{Name: "retry storm", For: 16 * m, Load: During(overload, 1.6, 0.5), Overload: overload, Retry: storm},
		{Name: "polite retries", For: 16 * m, Load: During(overload, 1.6, 0.5), Overload: overload, Retry: Retry{Times: 1, After: time.Second, Doubling: true, Obedient: true}},
		{Name: ImpatientClients, For: 16 * m, Load: During(overload, 1.6, 0.5), Overload: overload, Retry: Retry{Times: 3, After: 100 * time.Millisecond, Impatient: true}},
		{Name: "diurnal ramp", For: 40 * m, Load: Wave(0.2, 1.4, 40*m), Overload: day},
		{Name: "flapping", For: 16 * m, Load: Within(overload, Square(0.6, 1, 20*time.Second), 0.5), Overload: overload},
		{Name: "half lost", For: 16 * m, Load: Always(0.6), Left: During(overload, 0.5, 1), Overload: overload},
		{Name: "all critical", For: 16 * m, Load: During(overload, 1.2, 0.5), Overload: overload, Mix: [4]float64{0, 0, 0, 1}},
		{Name: "nothing sheddable", For: 16 * m, Load: During(overload, 3, 0.5), Overload: overload, Mix: [4]float64{0, 0, 0, 1}},
		{Name: "shared CPU", For: 16 * m, Discipline: Share, Load: During(overload, 3, 0.5), Overload: overload},
		{Name: "regular work", For: 16 * m, Load: During(overload, 1.5, 0.5), Overload: overload, Work: Regular},
		{Name: "long tail", For: 16 * m, Load: During(overload, 1.5, 0.5), Overload: overload, Work: LongTail(1)},
		{Name: "skewed callers", For: 16 * m, Load: During(overload, 2, 0.5), Overload: overload, Skew: 1.2},
	}
}
