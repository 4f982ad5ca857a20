package overload

import (
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/seawall-go/seawall/internal/openloop"
)

// summary is the run that was played.
func (p played) summary(shedder string) Run {
	run := Run{Shedder: shedder, Seconds: p.seconds}
	var all []answer
	for i, answers := range p.parts {
		part := Played{Rate: p.rates[i], Server: round(p.server[i]), Generator: round(p.generator[i])}
		var late openloop.Latencies
		for _, a := range answers {
			late = append(late, a.late)
		}
		slices.Sort(late)
		part.LateP99 = ms(late.P(0.99))
		for tier := range part.Tiers {
			part.Tiers[tier] = outcome(ofTier(answers, tier))
		}
		run.Parts = append(run.Parts, part)
		all = append(all, answers...)
	}
	for i := range run.Seconds {
		s := &run.Seconds[i]
		from, to := time.Duration(i)*time.Second, time.Duration(i+1)*time.Second
		for tier := range Tiers {
			o := outcome(where(all, func(a answer) bool { return a.tier == tier && from <= a.due && a.due < to }))
			s.Sent[tier], s.Served[tier], s.P99[tier] = o.Sent, o.Served, o.P99
		}
	}
	return run
}

// outcome sums up what became of the requests.
func outcome(answers []answer) Outcome {
	o := Outcome{Sent: len(answers)}
	var served, all openloop.Latencies
	for _, a := range answers {
		all = append(all, a.latency)
		switch a.code {
		case http.StatusOK:
			o.Served++
			served = append(served, a.latency)
		case http.StatusServiceUnavailable:
			o.Refused++
		case 0:
			o.GaveUp++
		default:
			o.Failed++
		}
	}
	slices.Sort(served)
	slices.Sort(all)
	o.ServedP50, o.ServedP99, o.P50, o.P99 = ms(served.P(0.5)), ms(served.P(0.99)), ms(all.P(0.5)), ms(all.P(0.99))
	return o
}

func ofTier(answers []answer, tier int) []answer {
	return where(answers, func(a answer) bool { return a.tier == tier })
}

func where(answers []answer, is func(answer) bool) (some []answer) {
	for _, a := range answers {
		if is(a) {
			some = append(some, a)
		}
	}
	return some
}

func ms(d time.Duration) float64 { return round(float64(d) / float64(time.Millisecond)) }

// round keeps two decimals: more is noise.
func round(x float64) float64 { return math.Round(100*x) / 100 }
