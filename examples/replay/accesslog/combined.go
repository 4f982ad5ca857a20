package accesslog

import "bytes"

// combined reads the combined and the common log format of Apache and nginx.
type combined struct{ clock clock }

func (c *combined) parse(line []byte, e *Entry) string {
	at, seconds := c.stamped(line)
	if at < 0 {
		return noTime
	}
	now, ok := since1970(seconds, 0)
	if !ok {
		return badTime
	}
	e.Address, e.User = who(line[:at])
	if len(e.Address) == 0 {
		return noAddress
	}
	rest := line[at+len(` [17/May/2015:08:05:32 +0000] "`):]
	end := requestEnd(rest)
	if end < 0 {
		return noStatus
	}
	e.request(rest[:end])
	took, ok := requestTime(rest[end+len(`" 200`):])
	if !ok {
		return badDuration
	}
	return e.until(now, took)
}

// stamped finds the time stamp: the first before a quote. A user name cannot pose as that, since quotes in it are escaped.
func (c *combined) stamped(line []byte) (at int, seconds int64) {
	const length = len(`17/May/2015:08:05:32 +0000] "`)
	for i := 0; ; {
		n := bytes.IndexByte(line[i:], '[')
		if n < 0 || len(line)-(i+n+1) < length {
			return -1, 0
		}
		i += n + 1
		text := line[i : i+length]
		if i < 2 || line[i-2] != ' ' || text[stampLen] != ' ' || string(text[stampLen+6:]) != `] "` {
			continue
		}
		if s, ok := c.clock.seconds(text[:stampLen], text[stampLen+1:stampLen+6]); ok {
			return i - 2, s
		}
	}
}

// who returns the address and the user that `host ident user` has. The user may contain spaces.
func who(text []byte) (address, user []byte) {
	host, rest := word(text)
	// A name with a port is the virtual host, and the client follows. What follows a client with a port is "-".
	if i := bytes.IndexByte(host, ':'); i >= 0 {
		next, after := word(rest)
		if digits(host[i+1:]) >= 0 && len(after) > 0 && string(next) != "-" {
			host, rest = next, after
		}
		host = bare(host)
	}
	if _, user = word(rest); nothing(user) {
		user = nil
	}
	return host, user
}

// requestEnd is where a request's quote closes, behind which there is a status; -1 if there is none. A quote in the midst of
// a word is part of the request: not every writer of logs escapes it.
func requestEnd(text []byte) int {
	for i := 0; ; i++ {
		n := closing(text[i:])
		if n < 0 {
			return -1
		}
		i += n
		switch after := text[i+1:]; {
		case hasStatus(after):
			return i
		case len(after) == 0 || after[0] == ' ':
			return -1
		}
	}
}

// hasStatus tells if a status follows a request.
func hasStatus(text []byte) bool {
	return len(text) >= 4 && text[0] == ' ' && digits(text[1:4]) >= 0 && (len(text) == 4 || text[4] == ' ')
}

// requestTime is nginx's $request_time in nanoseconds, if that is the first field behind the agent; -1 if not. Text is
// ` bytes "referer" "agent" 0.123`. It is not ok if the time does not fit.
func requestTime(text []byte) (took int64, ok bool) {
	i := bytes.IndexByte(text, '"')
	if i < 0 {
		return -1, true
	}
	text = text[i+1:]
	for range 3 { // the ends of the referer, of the space between, and of the agent
		if i = closing(text); i < 0 {
			return -1, true
		}
		text = text[i+1:]
	}
	if len(text) == 0 || text[0] != ' ' {
		return -1, true
	}
	field, _ := word(text[1:])
	point := bytes.IndexByte(field, '.')
	if point < 1 {
		return -1, true
	}
	for _, c := range field {
		if (c < '0' || c > '9') && c != '.' {
			return -1, true
		}
	}
	if bytes.IndexByte(field[point+1:], '.') >= 0 { // it is an address
		return -1, true
	}
	return decimal(field, 1e9)
}
