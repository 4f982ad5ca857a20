package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// step is a row of a worked example: one caller asks once, or is given back what it spent.
type step struct {
	at    time.Duration   // on the store's clock, after start
	quota ratelimit.Quota // from here on; zero: as before
	note  string          // what else has happened
	cost  int64           // what is spent, unless
	back  int             // it is given back: what the row of this number spent, counting from 1
}

// play goes through a worked example on a store in memory, and writes it down as a table.
func play(steps []step) (string, error) {
	b, err := newBench()
	if err != nil {
		return "", err
	}
	rows := [][]string{{"time", "request", "answer", "Remaining", "RetryAfter", "NextAfter", "ResetAfter"}}
	var quota ratelimit.Quota
	spent := make([]seawall.Check, len(steps))
	for i, s := range steps {
		if !s.quota.IsZero() {
			quota = s.quota
		}
		what, word := fmt.Sprintf("cost %d", s.cost), "refused"
		var res seawall.Result
		if s.back > 0 {
			old := spent[s.back-1]
			if old.ID == 0 {
				return "", errors.New("a refund of what was not spent")
			}
			what, word = fmt.Sprintf("refund of row %d", s.back), ""
			old.Op = seawall.Refund
			if _, _, err = b.ask(s.at, quota, old); err == nil {
				_, res, err = b.ask(s.at, quota, seawall.Check{Cost: 1, Op: seawall.Peek})
			}
			res.RetryAfter = 0
		} else {
			spent[i], res, err = b.ask(s.at, quota, seawall.Check{Cost: s.cost, Timed: true})
			if res.Admitted {
				word = "admitted"
			}
		}
		if err != nil {
			return "", err
		}
		if s.note != "" {
			what = s.note + ": " + what
		}
		rows = append(rows, []string{
			clock(s.at), what, word, strconv.FormatInt(res.Remaining, 10), wait(res.RetryAfter), wait(res.NextAfter), wait(res.ResetAfter),
		})
	}
	return markdown(rows), nil
}

// clock writes a time after start as minutes and seconds.
func clock(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "−", -d
	}
	s := fmt.Sprintf("%s%d:%02d", sign, d/time.Minute, d%time.Minute/time.Second)
	if frac := d % time.Second; frac > 0 {
		s += strings.TrimRight(fmt.Sprintf(".%09d", frac), "0")
	}
	return s
}

// wait writes a wait in seconds; zero, which is none, as nothing.
func wait(d time.Duration) string {
	switch d {
	case seawall.Never:
		return "never"
	case 0:
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}
