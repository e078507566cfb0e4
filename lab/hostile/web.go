package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"meanwhile/transport"
)

// reach opens a TCP connection to the page's address that holds few bytes that nobody has read. It
// is closed when the raid ends, or by done.
func (r *raid) reach() (conn net.Conn, done func(), err error) {
	d := net.Dialer{Timeout: transport.HelloTimeout}
	if conn, err = d.DialContext(r.ctx, "tcp", r.Page); err != nil {
		return nil, nil, err
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetReadBuffer(4 << 10)
		_ = t.SetLinger(0)
	}
	stop := context.AfterFunc(r.ctx, func() { _ = conn.Close() })
	return conn, func() {
		stop()
		_ = conn.Close()
	}, nil
}

// socket opens a WebSocket without a library, so that it can send what none would.
func (r *raid) socket(rnd *rand.Rand) (conn net.Conn, in *bufio.Reader, done func(), err error) {
	if conn, done, err = r.reach(); err != nil {
		return nil, nil, nil, err
	}
	key := make([]byte, 16)
	binary.LittleEndian.PutUint64(key, rnd.Uint64())
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
		transport.Path, r.Page, base64.StdEncoding.EncodeToString(key))
	in = bufio.NewReaderSize(conn, 4<<10)
	if err == nil {
		var answer *http.Response
		if answer, err = http.ReadResponse(in, nil); err == nil && answer.StatusCode != http.StatusSwitchingProtocols {
			err = errors.New(answer.Status)
		}
	}
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	return conn, in, done, nil
}

// Opcodes of WebSocket, see RFC 6455 §5.2, and the bit of a last fragment.
const (
	opContinue = 0
	opText     = 1
	opBinary   = 2
	opClose    = 8
	opPing     = 9
	final      = 0x80
	compressed = 0x40
)

// frame returns a frame that says it is size bytes long, masked with zeros.
func frame(head byte, size uint64, b []byte) []byte {
	f := []byte{head}
	switch {
	case size < 126:
		f = append(f, 0x80|byte(size))
	case size < 1<<16:
		f = binary.BigEndian.AppendUint16(append(f, 0x80|126), uint16(size))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 0x80|127), size)
	}
	return append(append(f, 0, 0, 0, 0), b...)
}

// prefixMessage begins a reliable message on a WebSocket, see docs/PROTOCOL.md.
const prefixMessage = 1

// join says hello over a WebSocket of one's own.
func (r *raid) join(conn net.Conn, rnd *rand.Rand) error {
	b := append([]byte{prefixMessage}, r.hello(rnd, "")...)
	_, err := conn.Write(frame(final|opBinary, uint64(len(b)), b))
	return err
}

// why reads a WebSocket until it ends, and returns the reason that the server gave.
func why(in *bufio.Reader) error {
	for {
		head, err := in.ReadByte()
		if err != nil {
			return errors.New("connection lost")
		}
		n, _ := in.ReadByte()
		size := uint64(n & 0x7f)
		wide := make([]byte, 8)
		switch size {
		case 126:
			_, _ = io.ReadFull(in, wide[6:])
			size = binary.BigEndian.Uint64(wide)
		case 127:
			_, _ = io.ReadFull(in, wide)
			size = binary.BigEndian.Uint64(wide)
		}
		if head&0xf != opClose {
			if _, err := in.Discard(int(min(size, 1<<20))); err != nil {
				return errors.New("connection lost")
			}
			continue
		}
		b := make([]byte, size&0x7f)
		_, _ = io.ReadFull(in, b)
		if len(b) <= 2 {
			return errors.New("closed without a reason")
		}
		return errors.New(string(b[2:]))
	}
}

// ramble sends frames that no browser does: huge, endless, compressed, of text, in pieces.
func ramble(r *raid) {
	r.again(8, func(rnd *rand.Rand) error {
		if !r.turn() {
			return nil
		}
		conn, in, done, err := r.socket(rnd)
		if err != nil {
			return err
		}
		defer done()
		if rnd.IntN(2) == 0 {
			if err := r.join(conn, rnd); err != nil {
				return err
			}
		}
		var b []byte
		switch rnd.IntN(6) {
		case 0:
			b = frame(final|opBinary, 1<<62, make([]byte, 64<<10))
		case 1: // fragments without an end
			b = bytes.Repeat(frame(opContinue, 1000, make([]byte, 1000)), 200)
			b[0] = opBinary
		case 2: // says that it is compressed
			b = frame(final|compressed|opBinary, 4096, make([]byte, 4096))
		case 3:
			b = frame(final|opText, 5, []byte("hello"))
		case 4: // without a mask
			b = append([]byte{final | opBinary, 100}, make([]byte, 100)...)
		case 5:
			b = make([]byte, 2048)
			for i := range b {
				b[i] = byte(rnd.Uint32())
			}
		}
		_, _ = conn.Write(b)
		_ = conn.SetReadDeadline(time.Now().Add(2 * transport.HelloTimeout))
		return why(in)
	})
}

// stream sends a frame over and over, a hundred at once, and reads what comes.
func stream(n int, unit []byte) func(r *raid) {
	return func(r *raid) {
		r.again(n, func(rnd *rand.Rand) error {
			conn, in, done, err := r.socket(rnd)
			if err != nil {
				return err
			}
			defer done()
			if err := r.join(conn, rnd); err != nil {
				return err
			}
			ended := make(chan error, 1)
			go func() { ended <- why(in) }()
			many := bytes.Repeat(unit, 100)
			for err == nil && r.turn() {
				_, err = conn.Write(many)
			}
			if r.ctx.Err() != nil {
				done()
			}
			return <-ended
		})
	}
}

// deafen joins over WebSockets and reads nothing that comes.
func deafen(r *raid) {
	r.again(32, func(rnd *rand.Rand) error {
		conn, _, done, err := r.socket(rnd)
		if err != nil {
			return err
		}
		defer done()
		if err := r.join(conn, rnd); err != nil {
			return err
		}
		beat := append([]byte{0}, make([]byte, transport.MinDatagram)...)
		for err == nil && r.ctx.Err() == nil {
			r.count()
			_, err = conn.Write(frame(final|opBinary, uint64(len(beat)), beat))
			wait(r.ctx, time.Second)
		}
		return err
	})
}

// dawdle opens connections that send half a header, a byte now and then, or nothing.
func dawdle(r *raid) {
	r.again(300, func(rnd *rand.Rand) error {
		conn, done, err := r.reach()
		if err != nil {
			return err
		}
		defer done()
		r.count()
		if rnd.IntN(2) == 0 {
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nCookie: ")
			r.wg.Go(func() {
				for err := error(nil); err == nil && r.ctx.Err() == nil; wait(r.ctx, time.Second) {
					_, err = conn.Write([]byte{'x'})
				}
			})
		}
		_, _ = io.Copy(io.Discard, conn)
		return errors.New("the connection was closed")
	})
}

// stall asks for a large file and reads none of it.
func stall(r *raid) {
	r.again(500, func(*rand.Rand) error {
		conn, done, err := r.reach()
		if err != nil {
			return err
		}
		defer done()
		r.count()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", r.File); err != nil {
			return err
		}
		for beat := 0; r.ctx.Err() == nil; beat++ {
			wait(r.ctx, time.Second)
			if _, err := conn.Write([]byte("\r")); err != nil { // the server does not wait for more
				return errors.New("the connection was closed")
			}
		}
		return nil
	})
}

// paths are what browse asks for: what there is, what there is not, and what only operators get.
var paths = []string{"/", "/meanwhile.js", "/meanwhile.json", "/metrics", "/receipts", "/debug/pprof/heap", "/truth",
	"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/meanwhile.json?room=../x", "/nothing", transport.Path}

// browse asks for pages, some under a host's name that leads here by its owner's will.
func browse(r *raid) {
	tr := &http.Transport{MaxIdleConnsPerHost: 16}
	defer tr.CloseIdleConnections()
	c := http.Client{Transport: tr, Timeout: transport.HelloTimeout}
	for i := range 16 {
		rnd := rand.New(rand.NewPCG(r.seed, uint64(i)))
		r.wg.Go(func() {
			for r.turn() {
				request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, "http://"+r.Page, nil)
				if err != nil {
					panic(err) // the address was checked
				}
				request.URL.Opaque = paths[rnd.IntN(len(paths))]
				if rnd.IntN(8) == 0 {
					request.Host = "evil.example"
				}
				answer, err := c.Do(request)
				if err != nil {
					r.end(err)
					continue
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				r.end(errors.New(answer.Status))
			}
		})
	}
	r.wg.Wait()
}
