package accesslog

import "bytes"

// haproxy reads the HTTP log of HAProxy.
type haproxy struct {
	clock   clock
	header  int    // captured, wanted as a field, from 1; 0 is none
	request []byte // decoded
	field   []byte
}

func (h *haproxy) parse(line []byte, e *Entry) string {
	client, start, rest := h.accepted(line)
	switch {
	case rest == nil:
		return noTime
	case start < 0:
		return badTime
	}
	colon := bytes.LastIndexByte(client, ':')
	if colon < 0 || digits(client[colon+1:]) < 0 {
		return noAddress
	}
	if e.Address = bytes.Trim(client[:colon], "[]"); len(e.Address) == 0 {
		return noAddress
	}
	_, rest = word(rest) // the frontend
	_, rest = word(rest) // the backend and server
	timers, rest := word(rest)
	took, ok := lastTimer(timers)
	if !ok {
		return badDuration
	}
	status, rest := word(rest)
	if n := digits(status); (n < 0 || n > 999) && string(status) != "-1" {
		return noStatus
	}
	for range 6 { // bytes, two cookies, the state at the end, connections, queues
		_, rest = word(rest)
	}
	h.wanted(rest, e)
	if i := bytes.IndexByte(rest, '"'); i >= 0 { // any in captures are encoded
		rest = rest[i+1:]
		if i = bytes.IndexByte(rest, '"'); i >= 0 { // not of a line that was cut off
			rest = rest[:i]
		}
		h.request = decode(h.request[:0], rest)
		e.request(h.request)
	}
	return e.span(start, took)
}

// accepted finds the date at which the client's request was accepted. Rest is what follows it; nil if there is none.
func (h *haproxy) accepted(line []byte) (client []byte, start int64, rest []byte) {
	for i := 0; ; {
		n := bytes.IndexByte(line[i:], '[')
		if n < 0 || len(line)-(i+n+1) < stampLen+len(".123] ") {
			return nil, 0, nil
		}
		i += n + 1
		text := line[i:]
		end := bytes.IndexByte(text[:min(len(text), stampLen+len(".123456789] "))], ']')
		if i < 2 || line[i-2] != ' ' || end <= stampLen || text[stampLen] != '.' || end+1 >= len(text) || text[end+1] != ' ' {
			continue
		}
		s, ok := h.clock.seconds(text[:stampLen], []byte(utc))
		ns, fine := fraction(text[stampLen+1 : end])
		if !ok || !fine {
			continue
		}
		if start, ok = since1970(s, ns); !ok {
			start = -1
		}
		client = line[:i-2]
		return client[bytes.LastIndexByte(client, ' ')+1:], start, text[end+2:]
	}
}

// lastTimer is the last of five, which is the duration, in nanoseconds. A plus says that the log was written before the end.
func lastTimer(timers []byte) (took int64, ok bool) {
	if bytes.Count(timers, []byte("/")) != 4 {
		return 0, false
	}
	last := bytes.TrimPrefix(timers[bytes.LastIndexByte(timers, '/')+1:], []byte("+"))
	if string(last) == "-1" {
		return -1, true
	}
	return decimal(last, 1e6)
}

// wanted notes the header that is wanted of those captured, {a|b}.
func (h *haproxy) wanted(text []byte, e *Entry) {
	if h.header == 0 || len(text) == 0 || text[0] != '{' {
		return
	}
	text = text[1:]
	if i := bytes.IndexByte(text, '}'); i >= 0 {
		text = text[:i]
	}
	for n := 1; ; n++ {
		value, rest, more := bytes.Cut(text, []byte("|"))
		if n == h.header {
			h.field = decode(h.field[:0], value)
			e.Field = h.field
			return
		}
		if !more {
			return
		}
		text = rest
	}
}

// decode appends what HAProxy has written with some bytes as # and two hexadecimal digits.
func decode(to, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '#')
		if i < 0 || i+2 >= len(text) {
			return append(to, text...)
		}
		to = append(to, text[:i]...)
		if high, low := hex(text[i+1]), hex(text[i+2]); high >= 0 && low >= 0 {
			to, text = append(to, byte(high<<4|low)), text[i+3:]
		} else {
			to, text = append(to, '#'), text[i+1:]
		}
	}
}

// hex is the value of a hexadecimal digit; -1 of another byte.
func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
