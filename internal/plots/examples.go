package main

import (
	"time"

	"github.com/seawall-go/seawall/ratelimit"
)

const sec = time.Second

// examples are the worked examples, by the names of their tables.
func examples() map[string][]step {
	return map[string][]step{
		"bucket": {
			{at: 0, quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 5), cost: 3},
			{at: 0, cost: 3},
			{at: 1 * sec, cost: 3},
			{at: 1 * sec, cost: 6},
			{at: 2 * sec, back: 3},
			{at: 10 * sec, cost: 5},
			{at: -3590 * sec, note: "the clock steps back an hour", cost: 1},
			{at: -3589 * sec, cost: 1},
			{at: -3589 * sec, note: "now 10 tokens, 2 a second", quota: ratelimit.TokenBucket(ratelimit.PerSecond(2), 10), cost: 1},
			{at: -3588 * sec, note: "now 2 tokens, 1 a second", quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 2), cost: 1},
			{at: -3587 * sec, cost: 1},
		},
		"thirds": {
			{at: 0, quota: ratelimit.TokenBucket(ratelimit.PerSecond(3), 3), cost: 3},
			{at: 333_333 * time.Microsecond, cost: 1},
			{at: 333_334 * time.Microsecond, cost: 1},
		},
		"log": {
			{at: 0, quota: ratelimit.SlidingLog(5, 10*sec), cost: 2},
			{at: 4 * sec, cost: 3},
			{at: 6 * sec, cost: 1},
			{at: 6 * sec, cost: 3},
			{at: 10*sec - time.Microsecond, cost: 2},
			{at: 10 * sec, cost: 2},
			{at: 11 * sec, back: 2},
			{at: 12 * sec, note: "now 2 per 10 s", quota: ratelimit.SlidingLog(2, 10*sec), cost: 1},
			{at: 2 * sec, note: "the clock steps back", cost: 1},
			{at: 12 * sec, cost: 1},
		},
		"counter": {
			{at: 20 * sec, quota: ratelimit.SlidingCounter(10, 60*sec), cost: 8},
			{at: 30 * sec, cost: 3},
			{at: 75 * sec, cost: 4},
			{at: 75 * sec, cost: 1},
			{at: 82*sec + 500*time.Millisecond, cost: 1},
			{at: 90 * sec, back: 3},
			{at: 50 * sec, note: "the clock steps back", cost: 1},
			{at: 50 * sec, note: "now 4 per 60 s", quota: ratelimit.SlidingCounter(4, 60*sec), cost: 1},
		},
		"window": {
			{at: 50 * sec, quota: ratelimit.FixedWindow(5, ratelimit.Every(60*sec)), cost: 5},
			{at: 55 * sec, cost: 1},
			{at: 60 * sec, cost: 5},
			{at: 70 * sec, back: 1},
			{at: 70 * sec, back: 3},
			{at: 80 * sec, cost: 4},
			{at: 50 * sec, note: "the clock steps back", cost: 2},
			{at: 60 * sec, cost: 2},
			{at: 60 * sec, note: "now 1 a minute", quota: ratelimit.FixedWindow(1, ratelimit.Every(60*sec)), cost: 1},
		},
	}
}
