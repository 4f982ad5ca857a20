package policyfile

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seawall-go/seawall/ratelimit"
)

// parseDuration is time.ParseDuration of what may begin with days of 24 hours, as in "7d" and "1d12h".
func parseDuration(s string) (time.Duration, bool) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		d, err := time.ParseDuration(s)
		return d, err == nil
	}
	n, err := strconv.ParseUint(days, 10, 16) // up to 179 years
	if err != nil {
		return 0, false
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest != "" {
		more, err := time.ParseDuration(rest)
		if err != nil || more < 0 || more > math.MaxInt64-d {
			return 0, false
		}
		d += more
	}
	return d, true
}

// parseRate reads a count per time, such as "10/s", "0.5/min" or "1/90s", and keeps it exact.
func parseRate(s string) (ratelimit.Rate, bool) {
	count, per, found := strings.Cut(s, "/")
	tokens, parts, ok := parseDecimal(count)
	if !found || !ok {
		return ratelimit.Rate{}, false
	}
	switch per {
	case "s", "m", "h", "d":
		per = "1" + per
	case "min":
		per = "1m"
	}
	d, ok := parseDuration(per)
	if !ok || d <= 0 || parts > math.MaxInt64/int64(d) {
		return ratelimit.Rate{}, false
	}
	return ratelimit.Rate{Count: tokens, Per: d * time.Duration(parts)}, true
}

// parseDecimal reads a decimal number as the fraction tokens/parts in lowest terms.
func parseDecimal(s string) (tokens, parts int64, ok bool) {
	whole, fraction, point := strings.Cut(s, ".")
	digits := whole + fraction
	if whole == "" || point && fraction == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > 18 {
		return 0, 0, false
	}
	tokens, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || tokens == 0 {
		return 0, 0, false
	}
	parts = 1
	for range fraction {
		parts *= 10
	}
	d := divisor(tokens, parts)
	return tokens / d, parts / d, true
}

// divisor is the greatest common one of two positive numbers.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
