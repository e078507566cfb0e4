package site

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A doorway is a net.Listener in memory, so that the server behind it runs in virtual time.
type doorway struct {
	arrive chan net.Conn
	closed chan struct{}
}

func newDoorway() *doorway { return &doorway{make(chan net.Conn), make(chan struct{})} }

func (d *doorway) Accept() (net.Conn, error) {
	select {
	case c := <-d.arrive:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *doorway) Close() error   { close(d.closed); return nil }
func (d *doorway) Addr() net.Addr { return &net.TCPAddr{} }

func (d *doorway) dial() net.Conn {
	near, far := net.Pipe()
	d.arrive <- far
	return near
}

// A client that stalls holds a connection no longer than the limits say: while it sends its header,
// while it sends a body, while it reads an answer, and between two requests.
func TestStallingClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan time.Time, 1) // when the handler's read or write failed
		d := newDoorway()
		h := newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var err error // time limits end both before they are done
			switch r.URL.Path {
			case "/read":
				_, err = io.ReadAll(r.Body)
			case "/write":
				_, err = w.Write(make([]byte, 1<<20))
			default:
				return
			}
			if err != nil {
				over <- time.Now()
			}
		}), slog.New(slog.DiscardHandler))
		serving := make(chan error, 1)
		go func() { serving <- h.Serve(d) }()
		defer func() { _ = h.Close(); <-serving }()

		for _, c := range []struct {
			name, request string
			want          time.Duration // until the server closes the connection
			handler       time.Duration // until the handler's read or write fails; 0: it does neither
		}{
			{"no header", "", 5 * time.Second, 0},
			{"half a header", "GET / HTTP/1.1\r\nHost: a", 5 * time.Second, 0},
			{"no body", "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab", -1, 10 * time.Second},
			{"no reading", "GET /write HTTP/1.1\r\nHost: a\r\n\r\n", -1, StallTimeout},
		} {
			conn, start := d.dial(), time.Now()
			if _, err := io.WriteString(conn, c.request); err != nil {
				t.Fatal(err)
			}
			if c.handler > 0 {
				select {
				case at := <-over:
					if got := at.Sub(start); got != c.handler {
						t.Errorf("%s: the handler was released after %v, want %v", c.name, got, c.handler)
					}
				case <-time.After(time.Hour):
					t.Errorf("%s: the handler is stuck for an hour", c.name)
				}
			}
			_ = conn.SetReadDeadline(time.Now().Add(time.Hour))
			if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%s: an hour later the connection is still open: %v", c.name, err)
			}
			if got := time.Since(start); c.want >= 0 && got != c.want {
				t.Errorf("%s: closed after %v, want %v", c.name, got, c.want)
			}
			_ = conn.Close()
		}

		conn, start := d.dial(), time.Now()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, conn)
		if got := time.Since(start); got != time.Minute {
			t.Errorf("between two requests: closed after %v, want a minute", got)
		}
	})
}

// Headers beyond 16 kB, and the slop that net/http adds, are refused.
func TestLongHeaders(t *testing.T) {
	for size, want := range map[int]int{8 << 10: http.StatusOK, 32 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		synctest.Test(t, func(t *testing.T) {
			d := newDoorway()
			h := newHTTPServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
				slog.New(slog.DiscardHandler))
			serving := make(chan error, 1)
			go func() { serving <- h.Serve(d) }()
			defer func() { _ = h.Close(); <-serving; time.Sleep(time.Second) }() // it lingers after an error
			conn := d.dial()
			defer conn.Close()
			go func() { // the server may answer before it has read everything
				_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: a\r\nCookie: %s\r\n\r\n", strings.Repeat("x", size))
			}()
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode != want {
				t.Errorf("a header of %d bytes: %s, want %d", size, r.Status, want)
			}
		})
	}
}

// Files beyond 64 MB are not served, nor read.
func TestHugeFiles(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"huge.bin": 64<<20 + 1, "small.bin": 100} {
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = errors.Join(f.Truncate(size), f.Close()) // sparse: it takes no room
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f := &files{trees: []fs.FS{os.DirFS(dir)}, log: slog.New(slog.DiscardHandler)}
	for name, want := range map[string]int{"/huge.bin": http.StatusNotFound, "/small.bin": http.StatusOK} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(http.MethodGet, name, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", name, w.Code, want)
		}
	}
}

// Every answer carries the headers that give pages a fine clock and keep browsers from guessing
// types.
func TestHeadersOfEveryAnswer(t *testing.T) {
	url := serve(t, Config{Truth: true}, fake(t)).URL()
	for _, path := range []string{"", "nothing", "meanwhile.json", "meanwhile.js", "zap.wasm", "wasm_exec.js",
		"metrics", "receipts"} {
		r, _ := get(t, url+path)
		for name, want := range map[string]string{
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp",
			"Cross-Origin-Resource-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("/%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}
