package accesslog

// traefik reads the JSON access log of Traefik.
type traefik struct {
	clock clock
	line  object
	field string
}

// The things that traefik wants of a line.
const (
	traefikStart = iota
	traefikTook
	traefikClient
	traefikUser
	traefikMethod
	traefikPath
)

func newTraefik(field string) *traefik {
	return &traefik{field: field, line: newObject(
		names{"StartUTC"}, names{"Duration"}, names{"ClientHost"}, names{"ClientUsername"}, names{"RequestMethod"}, names{"RequestPath"},
	)}
}

func (p *traefik) parse(line []byte, e *Entry) string {
	if !valid(line) {
		return noJSON
	}
	p.line.read(line)
	if p.line.values[traefikStart] == nil {
		return noTime
	}
	start, ok := p.clock.stamp(p.line.text(traefikStart))
	if !ok {
		return badTime
	}
	if e.Address = bare(p.line.text(traefikClient)); len(e.Address) == 0 {
		return noAddress
	}
	e.User, e.Method, e.Path = p.line.text(traefikUser), p.line.text(traefikMethod), pathOf(p.line.text(traefikPath))
	e.Field = field(line, p.field)
	took := int64(-1)
	if p.line.values[traefikTook] != nil {
		if took, ok = decimal(p.line.text(traefikTook), 1); !ok {
			return badDuration
		}
	}
	return e.span(start, took)
}
