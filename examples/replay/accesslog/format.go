package accesslog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// auto is the format that is recognised.
const auto = "auto"

// A parser reads the lines of one format.
type parser interface {
	// parse fills in the entry, of which only Took is set, to a negative. It says why a line is no request, or "".
	parse(line []byte, e *Entry) (why string)
}

// What is wrong with a line. They are constants, since a log may have millions of them.
const (
	longLine    = "longer than 1 MiB"
	noAddress   = "no client address"
	noTime      = "no time stamp"
	badTime     = "the time stamp is none of the years 1970 to 2262"
	noStatus    = "no status"
	badDuration = "the duration is no number of the wanted unit, or negative"
	noJSON      = "no JSON object"
)

// Formats lists the formats that are known, in the order in which they are tried.
func Formats() []string { return []string{"combined", "nginx-json", "haproxy", "traefik", "caddy"} }

// checkFormat refuses what is not a format.
func checkFormat(format string) error {
	if format == "" || format == auto || slices.Contains(Formats(), format) {
		return nil
	}
	return fmt.Errorf("format %q: want %s or %s", format, strings.Join(Formats(), ", "), auto)
}

// newParser returns the one of a known format, which also looks for a field if it has a name.
func newParser(format, field string) (parser, error) {
	switch format {
	case "combined":
		if field != "" {
			return nil, fmt.Errorf(`field %q: the format "combined" has no further fields, only the address, the user, the method `+
				`and the path; want no field, or a log in one of the formats %s`, field, strings.Join(Formats()[1:], ", "))
		}
		return &combined{}, nil
	case "nginx-json":
		return newNginxJSON(field), nil
	case "haproxy":
		header := 0
		if field != "" {
			var err error
			if header, err = strconv.Atoi(field); err != nil || header < 1 {
				return nil, fmt.Errorf(`field %q: of the format "haproxy" want the number of a captured request header, `+
					`such as 1 for the first`, field)
			}
		}
		return &haproxy{header: header}, nil
	case "traefik":
		return newTraefik(field), nil
	default:
		return newCaddy(field), nil
	}
}
