package accesslog

import (
	"bytes"
	"time"
)

// caddy reads the JSON access log of Caddy.
type caddy struct {
	clock   clock
	line    object
	request object
	field   string
}

// The things that caddy wants of a line,
const (
	caddyTime = iota
	caddyTook
	caddyUser
	caddyLogger
	caddyRequest
)

// and of its request.
const (
	caddyClient = iota
	caddyMethod
	caddyURI
)

func newCaddy(field string) *caddy {
	return &caddy{
		field:   field,
		line:    newObject(names{"ts"}, names{"duration"}, names{"user_id"}, names{"logger"}, names{"request"}),
		request: newObject(names{"client_ip", "remote_ip", "remote_addr"}, names{"method"}, names{"uri"}),
	}
}

func (p *caddy) parse(line []byte, e *Entry) string {
	if !valid(line) {
		return noJSON
	}
	p.line.read(line)
	request := p.line.values[caddyRequest]
	logger := p.line.text(caddyLogger)
	if len(request) == 0 || request[0] != '{' || len(logger) > 0 && !bytes.HasPrefix(logger, []byte("http.log.access")) {
		return "no access entry"
	}
	if p.line.values[caddyTime] == nil {
		return noTime
	}
	end, ok := p.clock.stamp(p.line.text(caddyTime))
	if !ok {
		return badTime
	}
	p.request.read(request)
	if e.Address = bare(p.request.text(caddyClient)); len(e.Address) == 0 {
		return noAddress
	}
	e.User, e.Method, e.Path = p.line.text(caddyUser), p.request.text(caddyMethod), pathOf(p.request.text(caddyURI))
	e.Field = field(line, p.field)
	took, ok := caddyDuration(p.line.text(caddyTook))
	if !ok {
		return badDuration
	}
	return e.until(end, took)
}

// caddyDuration reads seconds, or a duration as Go writes it; -1 of no text.
func caddyDuration(text []byte) (took int64, ok bool) {
	if len(text) == 0 {
		return -1, true
	}
	if took, ok = decimal(text, 1e9); ok {
		return took, true
	}
	d, err := time.ParseDuration(string(text))
	return int64(d), err == nil && d >= 0
}
