package hostile

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// A relay stands on this machine between one client and the server's UDP port.
type relay struct {
	front  net.PacketConn
	back   net.Conn
	client atomic.Pointer[net.Addr]
	wg     sync.WaitGroup
}

// newRelay starts a relay. up and down get each packet of either direction, which they may keep,
// and send it on as they like.
func newRelay(server string, up, down func(b []byte, send func([]byte))) (*relay, error) {
	front, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	back, err := net.Dial("udp", server)
	if err != nil {
		_ = front.Close()
		return nil, err
	}
	l := &relay{front: front, back: back}
	l.wg.Go(func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := front.ReadFrom(buf)
			if err != nil {
				return
			}
			l.client.Store(&from)
			if n > 0 {
				up(append([]byte(nil), buf[:n]...), func(b []byte) { _, _ = back.Write(b) })
			}
		}
	})
	l.wg.Go(func() {
		buf := make([]byte, 2048)
		for {
			n, err := back.Read(buf)
			if n == 0 && err != nil {
				if strings.Contains(err.Error(), "refused") { // the server may come back
					continue
				}
				return
			}
			down(append([]byte(nil), buf[:n]...), func(b []byte) {
				if to := l.client.Load(); to != nil {
					_, _ = front.WriteTo(b, *to)
				}
			})
		}
	})
	return l, nil
}

func (l *relay) addr() string { return l.front.LocalAddr().String() }

func (l *relay) close() {
	_ = l.front.Close()
	_ = l.back.Close()
	l.wg.Wait()
}

// A Proxy is a reverse proxy on this machine that gives its clients whatever address they ask for,
// for servers that trust proxies here.
type Proxy struct {
	server *http.Server
	addr   string
	tr     *http.Transport
	done   chan struct{}
}

// fromHost is the first part of the names by which clients ask for an address.
const fromPrefix = "/from/"

// NewProxy starts a proxy before the page of a server.
func NewProxy(page string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{addr: l.Addr().String(), tr: &http.Transport{DisableKeepAlives: true}, done: make(chan struct{})}
	p.server = &http.Server{Handler: &httputil.ReverseProxy{
		Transport: p.tr,
		Rewrite: func(r *httputil.ProxyRequest) {
			from, path, _ := strings.Cut(strings.TrimPrefix(r.In.URL.Path, fromPrefix), "/")
			r.Out.URL = &url.URL{Scheme: "http", Host: page, Path: "/" + path}
			r.Out.Host = page
			r.Out.Header.Set("X-Forwarded-For", from)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}}
	go func() {
		defer close(p.done)
		_ = p.server.Serve(l)
	}()
	return p, nil
}

// From returns what stands for the server's host:port to a client from an address.
func (p *Proxy) From(address string) string { return p.addr + fromPrefix + address }

// Close ends the proxy. Connections that it handed over must have ended before.
func (p *Proxy) Close() {
	_ = p.server.Close()
	p.tr.CloseIdleConnections()
	<-p.done
}
