package accesslog

import (
	"bytes"
	"math"
	"strconv"
)

// maxTime is the last time that fits, in nanoseconds since the epoch: in 2262.
const maxTime = math.MaxInt64

// digits reads the decimal number that text consists of, of at most nine digits; -1 if it is none.
func digits(text []byte) int {
	if len(text) == 0 || len(text) > 9 {
		return -1
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// decimal is text × unit, rounded down, where unit is a power of ten. It is exact, except of numbers with an exponent. Signs
// are not accepted, nor products that do not fit.
func decimal(text []byte, unit int64) (n int64, ok bool) {
	most := math.MaxInt64/unit - 1
	i := 0
	for ; i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
		if n > (most-9)/10 {
			return scientific(text, unit) // which refuses it, too, unless its exponent is negative
		}
		n = n*10 + int64(text[i]-'0')
	}
	if i == 0 {
		return 0, false
	}
	n *= unit
	if i < len(text) && text[i] == '.' {
		place := unit
		for i++; i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
			place /= 10
			n += int64(text[i]-'0') * place
		}
	}
	if i < len(text) {
		return scientific(text, unit)
	}
	return n, true
}

// scientific is decimal for numbers with an exponent.
func scientific(text []byte, unit int64) (int64, bool) {
	if bytes.IndexByte(text, 'e') < 0 && bytes.IndexByte(text, 'E') < 0 || len(text) > 64 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if f *= float64(unit); err != nil || !(f >= 0 && f < maxTime) {
		return 0, false
	}
	return int64(f), true
}
