package redisstore

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
)

// What is at the other end may be no Redis, or a broken one. go-redis makes room for as many elements as an answer
// announces, and reads for as long as one goes on; so what no answer to this package can be ends the connection.
const (
	mostElements = 1 << 16 // of all arrays without a question in between
	longestText  = 1 << 20 // bytes
	longestLine  = 1 << 12
	mostHeard    = 1 << 20 // bytes without a question in between
)

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// suspicious has the connections of a dialer end when they hear what is not plausible.
func suspicious(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		p := &plausible{Conn: conn}
		if raw, ok := conn.(syscall.Conn); ok { // by which go-redis sees whether the other end has hung up
			return &plausibleSocket{p, raw}, nil
		}
		return p, nil
	}
}

// plausible is a connection to Redis. Like any, it has one reader and one writer at a time.
type plausible struct {
	net.Conn
	heard atomic.Int64 // since the last question
	stream
	refused error
}

type plausibleSocket struct {
	*plausible
	raw syscall.Conn
}

// SyscallConn implements syscall.Conn.
func (p *plausibleSocket) SyscallConn() (syscall.RawConn, error) { return p.raw.SyscallConn() }

// Write implements net.Conn.
func (p *plausible) Write(b []byte) (int, error) {
	p.heard.Store(0)
	return p.Conn.Write(b)
}

// Read implements net.Conn.
func (p *plausible) Read(b []byte) (int, error) {
	if p.refused != nil {
		return 0, p.refused
	}
	if p.heard.Load() == 0 { // the first answer to a question
		p.elements = 0
	}
	n, err := p.Conn.Read(b)
	if p.refused = p.scan(b[:n]); p.refused == nil && p.heard.Add(int64(n)) > mostHeard {
		p.refused = fmt.Errorf("an answer of more than %d bytes; that is no Redis, or not one of this program's own", mostHeard)
	}
	if p.refused != nil {
		_ = p.Close()
		return 0, p.refused
	}
	return n, err
}

// stream is how far a stream of answers has been read.
type stream struct {
	text   int64 // bytes of it that are still to come
	mark   byte  // that the present line began with; 0: none has begun
	length int   // of the line
	number int64 // that it announces
	none   bool  // it is negative

	elements int64 // that were announced, in all
}

// scan reads on, and returns an error if what was announced is more than plausible.
func (a *stream) scan(b []byte) error {
	for len(b) > 0 {
		if a.text > 0 {
			n := min(a.text, int64(len(b)))
			a.text -= n
			b = b[n:]
			continue
		}
		c := b[0]
		b = b[1:]
		switch {
		case a.mark == 0:
			*a = stream{mark: c, elements: a.elements}
		case c == '\n':
			if a.isText() && !a.none {
				a.text = a.number + int64(len("\r\n"))
			}
			if a.isArray() && !a.none {
				if a.elements += a.number; a.elements > mostElements {
					return fmt.Errorf("an answer that announces more than %d elements in all; that is no Redis, or not one of this program's own", mostElements)
				}
			}
			a.mark = 0
		default:
			if err := a.on(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// on reads a character of a line.
func (a *stream) on(c byte) error {
	if a.length++; a.length > longestLine {
		return fmt.Errorf("an answer with a line of more than %d bytes; that is no Redis, or not one of this program's own", longestLine)
	}
	most := int64(mostElements)
	if a.isText() {
		most = longestText
	} else if !a.isArray() {
		return nil
	}
	switch {
	case c == '-':
		a.none = true
	case '0' <= c && c <= '9':
		a.number = a.number*10 + int64(c-'0')
	}
	if a.number > most {
		return fmt.Errorf("an answer that announces more than %d of something (%q); that is no Redis, or not one of this program's own", most, a.mark)
	}
	return nil
}

func (a *stream) isText() bool { return a.mark == '$' || a.mark == '=' || a.mark == '!' }
func (a *stream) isArray() bool {
	return a.mark == '*' || a.mark == '%' || a.mark == '~' || a.mark == '>' || a.mark == '|'
}
