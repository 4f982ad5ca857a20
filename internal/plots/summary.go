package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// trafficTable says in numbers what the figures show.
func trafficTable() (string, error) {
	all, err := replayAll()
	if err != nil {
		return "", err
	}
	sent := all[0]
	count := func(from, to time.Duration) string { return strconv.Itoa(len(sent.between(from, to))) }
	rows := [][]string{
		{"", "burst at 1:25", "burst around 3:00", "from 3:30 on", "all", "most in any 12 s", "most in any 60 s"},
		{"sent", count(burst.from, burst.end()), count(straddle.from, straddle.end()), count(flood.from, flood.end()), count(0, length), "", ""},
	}
	for _, r := range all {
		row := []string{r.name}
		for _, n := range []int{
			r.admitted(burst.from, burst.end()), r.admitted(straddle.from, straddle.end()), r.admitted(flood.from, flood.end()),
			r.admitted(0, length), r.most(straddle.end() - straddle.from), r.most(window),
		} {
			row = append(row, strconv.Itoa(n))
		}
		rows = append(rows, row)
	}
	return markdown(rows), nil
}

// calendarTable says when windows end.
func calendarTable() (string, error) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return "", err
	}
	rows := [][]string{{"calendar", "a request at", "its window ends"}}
	for _, c := range []struct {
		code     string
		calendar ratelimit.Calendar
		at       time.Time
	}{
		{"Every(time.Hour)", ratelimit.Every(time.Hour), date(time.UTC, 2026, 1, 15, 12, 20)},
		{"Every(time.Hour).From(12:15)", ratelimit.Every(time.Hour).From(date(time.UTC, 2026, 1, 15, 12, 15)), date(time.UTC, 2026, 1, 15, 12, 20)},
		{"Daily().In(berlin)", ratelimit.Daily().In(berlin), date(berlin, 2026, 3, 29, 0, 0)},
		{"Daily().In(berlin).At(9 * time.Hour)", ratelimit.Daily().In(berlin).At(9 * time.Hour), date(berlin, 2026, 3, 29, 0, 0)},
		{"Weekly(time.Monday)", ratelimit.Weekly(time.Monday), date(time.UTC, 2026, 1, 15, 12, 20)},
		{"Monthly(31)", ratelimit.Monthly(31), date(time.UTC, 2026, 1, 31, 0, 0)},
		{"Monthly(31)", ratelimit.Monthly(31), date(time.UTC, 2026, 2, 28, 0, 0)},
	} {
		b, err := newBench()
		if err != nil {
			return "", err
		}
		_, res, err := b.ask(c.at.Sub(start), ratelimit.FixedWindow(1, c.calendar), seawall.Check{Cost: 1})
		if err != nil {
			return "", err
		}
		const form = "2006-01-02 15:04 MST"
		rows = append(rows, []string{"`" + c.code + "`", c.at.Format(form), c.at.Add(res.ResetAfter).Format(form)})
	}
	return markdown(rows), nil
}

func date(zone *time.Location, year, month, day, hour, minute int) time.Time {
	return time.Date(year, time.Month(month), day, hour, minute, 0, 0, zone)
}

// severalTable shows that of several limits all are charged or none.
func severalTable() (string, error) {
	l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "burst", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 3)},
		{Name: "day", Quota: ratelimit.FixedWindow(100, ratelimit.Daily())},
	}})
	if err != nil {
		return "", err
	}
	b, err := newBench()
	if err != nil {
		return "", err
	}
	rows := [][]string{{"time", "request", "`burst` says", "`day` says", "answer", "Remaining of `burst`", "Remaining of `day`", "RetryAfter"}}
	for _, s := range []step{{at: 0, cost: 2}, {at: 0, cost: 2}, {at: 1 * sec, cost: 2}} {
		b.now = start.Add(s.at)
		res, err := b.store.Apply(context.Background(), nil, l.Plan(nil, &seawall.Request{Key: b.key, Cost: s.cost}))
		if err != nil {
			return "", err
		}
		answer := "refused"
		if res[0].Committed && res[1].Committed {
			answer = "admitted"
		}
		rows = append(rows, []string{
			clock(s.at), fmt.Sprintf("cost %d", s.cost), yes(res[0].Admitted), yes(res[1].Admitted), answer,
			strconv.FormatInt(res[0].Remaining, 10), strconv.FormatInt(res[1].Remaining, 10), wait(max(res[0].RetryAfter, res[1].RetryAfter)),
		})
	}
	return markdown(rows), nil
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
