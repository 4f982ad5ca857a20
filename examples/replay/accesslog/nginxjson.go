package accesslog

// nginxJSON reads JSON with the names that nginx has for its variables, and others that are common.
type nginxJSON struct {
	clock clock
	line  object
	field string
}

// The things that nginxJSON wants of a line.
const (
	nginxTime = iota
	nginxClient
	nginxUser
	nginxRequest
	nginxMethod
	nginxPath
	nginxTook
)

func newNginxJSON(field string) *nginxJSON {
	return &nginxJSON{field: field, line: newObject(
		names{"msec", "time_iso8601", "time_local", "time", "timestamp", "@timestamp"}, // only the first has fractions
		names{"remote_addr", "remote_ip", "client_ip", "client"},
		names{"remote_user", "user"},
		names{"request"},
		names{"request_method", "method"},
		names{"request_uri", "uri", "path"},
		names{"request_time"},
	)}
}

func (p *nginxJSON) parse(line []byte, e *Entry) string {
	if !valid(line) {
		return noJSON
	}
	p.line.read(line)
	if p.line.values[nginxTime] == nil {
		return noTime
	}
	now, ok := p.clock.stamp(p.line.text(nginxTime))
	if !ok {
		return badTime
	}
	if e.Address = bare(p.line.text(nginxClient)); len(e.Address) == 0 {
		return noAddress
	}
	e.User = p.line.text(nginxUser)
	if e.request(p.line.text(nginxRequest)); e.Method == nil {
		e.Method, e.Path = p.line.text(nginxMethod), pathOf(p.line.text(nginxPath))
	}
	e.Field = field(line, p.field)
	took := int64(-1)
	if p.line.values[nginxTook] != nil {
		if took, ok = decimal(p.line.text(nginxTook), 1e9); !ok {
			return badDuration
		}
	}
	return e.until(now, took)
}
