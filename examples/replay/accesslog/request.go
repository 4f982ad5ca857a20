package accesslog

import "bytes"

// word splits text at its first space. Without one, all is the word.
func word(text []byte) (word, rest []byte) {
	word, rest, _ = bytes.Cut(text, []byte(" "))
	return word, rest
}

// nothing tells if a field is empty, as logs write it.
func nothing(field []byte) bool {
	return len(field) == 0 || string(field) == "-" || string(field) == `""`
}

// bare is an address without its port.
func bare(address []byte) []byte {
	colon := bytes.IndexByte(address, ':')
	switch {
	case colon < 0:
	case address[0] == '[':
		if i := bytes.IndexByte(address, ']'); i > 0 {
			return address[1:i]
		}
	case bytes.IndexByte(address[colon+1:], ':') < 0: // more than one is IPv6
		return address[:colon]
	}
	return address
}

// request notes a request line, unless it is no HTTP.
func (e *Entry) request(line []byte) {
	method, target := word(line)
	for _, c := range method {
		if (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' && c != '_' {
			return
		}
	}
	// Of a line that was cut off, a part of the protocol may be left.
	const protocol = "HTTP/"
	if i := bytes.LastIndexByte(target, ' '); i >= 0 {
		if last := target[i+1:]; string(last) == protocol[:min(len(last), len(protocol))] || bytes.HasPrefix(last, []byte(protocol)) {
			target = target[:i]
		}
	}
	if path := pathOf(target); path != nil || string(method) == "CONNECT" {
		e.Method, e.Path = method, path
	}
}

// pathOf returns the path of a request's target, which may be a URL; nil if it has none.
func pathOf(target []byte) []byte {
	if len(target) == 0 {
		return nil
	}
	if target[0] != '/' && string(target) != "*" {
		i := bytes.Index(target, []byte("://"))
		if i <= 0 || bytes.ContainsAny(target[:i], "/?#") {
			return nil
		}
		target = target[i+len("://"):]
		if i = bytes.IndexAny(target, "/?#"); i < 0 || target[i] != '/' {
			return []byte("/")
		}
		target = target[i:]
	}
	for i, c := range target {
		if c == '?' || c == '#' {
			return target[:i]
		}
	}
	return target
}

// escaped tells if the byte at i is, by an odd number of backslashes.
func escaped(s []byte, i int) bool {
	n := 0
	for ; n < i && s[i-1-n] == '\\'; n++ {
	}
	return n%2 == 1
}

// closing is where the first quote is that is not escaped; -1 if there is none.
func closing(s []byte) int {
	for i := 0; ; i++ {
		n := bytes.IndexByte(s[i:], '"')
		if n < 0 {
			return -1
		}
		if i += n; !escaped(s, i) {
			return i
		}
	}
}
