// Package acme_test gets certificates from Pebble, the ACME server that Let's Encrypt tests clients
// with.
package acme_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/host"
	"meanwhile/internal/verify/authority"
	"meanwhile/internal/verify/process"
	"meanwhile/internal/verify/sites"
	"meanwhile/netcode/clock"
	"meanwhile/transport/quic"
)

const domain = "game.example"

// limit bounds each wait. Within it a machine may be as slow as it likes, and a server asks the
// authority a second time, two minutes after a failure.
const limit = 5 * time.Minute

// build builds Pebble from its own module, or skips the test.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "pebble")
	cmd := exec.Command("go", "build", "-C", "pebble", "-o", program, "github.com/letsencrypt/pebble/v2/cmd/pebble")
	if out, err := cmd.CombinedOutput(); err != nil {
		missing := fmt.Sprintf("NO PEBBLE: %s did not run: %v\n%s", t.Name(), err, out)
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return program
}

// names answers every question for an IPv4 address with 127.0.0.1 (RFC 1035 §4), until the test ends.
func names(t *testing.T) (addr string) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var answering sync.WaitGroup
	answering.Go(func() {
		b := make([]byte, 512)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(resolve(b[:n]), from)
		}
	})
	t.Cleanup(func() {
		c.Close()
		answering.Wait()
	})
	return c.LocalAddr().String()
}

// resolve answers a question.
func resolve(question []byte) []byte {
	end := 12 // of the question's name
	for end < len(question) && question[end] != 0 {
		end += 1 + int(question[end])
	}
	if end += 5; end > len(question) {
		return nil
	}
	answer := append([]byte(nil), question[:end]...)
	answer[2], answer[3] = 0x84, 0                      // a response, with authority, without error
	clear(answer[6:12])                                 // no records
	if binary.BigEndian.Uint16(question[end-4:]) == 1 { // type A: the name as in the question, class IN, 60 s
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
	}
	return answer
}

// A pebble is a running authority.
type pebble struct {
	directory string // its address for clients
	manage    string
	config    map[string]any
	client    *http.Client
}

// newPebble chooses the addresses of an authority, whose own certificate this process trusts.
func newPebble(t *testing.T) *pebble {
	t.Helper()
	a := authority.New(t)
	root := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(root, a.Root, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", root) // crypto/x509 reads it once
	certFile, keyFile := a.Issue(time.Now().Add(time.Hour), "localhost")
	port, manage := process.Port(t), process.Port(t)
	return &pebble{
		directory: "https://localhost:" + port + "/dir", manage: "https://localhost:" + manage,
		config: map[string]any{
			"listenAddress": "127.0.0.1:" + port, "managementListenAddress": "127.0.0.1:" + manage,
			"certificate": certFile, "privateKey": keyFile, "keyAlgorithm": "ecdsa",
			"retryAfter": map[string]int{"authorization": 1, "order": 1},
			"profiles":   map[string]any{"default": map[string]any{"description": "", "validityPeriod": 7776000}},
		},
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// start runs the authority, which asks servers at the given ports, until the test ends.
func (p *pebble) start(t *testing.T, httpPort, tlsPort int) {
	t.Helper()
	p.config["httpPort"], p.config["tlsPort"] = httpPort, tlsPort
	b, err := json.Marshal(map[string]any{"pebble": p.config})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pebble.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, build(t), "-config", file, "-dnsserver", names(t))
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the authority's log:\n%s", log.String())
		}
	})
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		r, err := p.client.Get(p.directory)
		if err == nil {
			r.Body.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the authority does not answer: %v", err)
		}
	}
}

// roots returns the certificates that clients of its servers trust.
func (p *pebble) roots(t *testing.T) *x509.CertPool {
	t.Helper()
	r, err := p.client.Get(p.manage + "/roots/0")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(b) {
		t.Fatalf("the authority's root: %v %q", err, b)
	}
	return pool
}

// listen opens a site.
func listen(t *testing.T, d site.Door) *site.Site {
	t.Helper()
	return sites.Listen(t, site.Config{Door: d, Host: host.Config{Rules: sites.Rules(t, &zap.Game),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}})
}

// shown returns the serial numbers of the certificates that a site shows on TCP and over QUIC.
func shown(t *testing.T, s *site.Site, roots *x509.CertPool) (tcp, udp string) {
	t.Helper()
	trust := &tls.Config{RootCAs: roots, ServerName: domain}
	var c net.Conn
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) { // until the certificate is there
		var err error
		if c, err = (&tls.Dialer{Config: trust, NetDialer: &net.Dialer{Timeout: limit}}).Dial("tcp", address(s)); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	defer c.Close()
	tcp = c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	trust.VerifyConnection = func(cs tls.ConnectionState) error {
		udp = cs.PeerCertificates[0].SerialNumber.String()
		return nil
	}
	conn, err := quic.Dial(ctx, s.QUIC(), quic.DialConfig{Clock: func() clock.Time { return 0 }, TLS: trust})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close("")
	<-conn.Done()
	return tcp, udp
}

// address is the TCP address of a site.
func address(s *site.Site) string {
	_, port, _ := net.SplitHostPort(s.QUIC()) // of the same number
	return net.JoinHostPort("127.0.0.1", port)
}

func port(t *testing.T, addr string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return a.Port
}

// One certificate is got for TCP and QUIC, whether the authority asks over https or over plain http,
// and it outlasts the server.
func TestCertificateFromAnAuthority(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: certificates from Let's Encrypt's test server, which must be built")
	}
	p := newPebble(t)
	d := site.Door{ACME: []string{domain}, ACMEURL: p.directory, State: t.TempDir()}
	s := listen(t, d)
	plain := site.Door{ACME: d.ACME, ACMEURL: d.ACMEURL, State: t.TempDir(), Redirect: "127.0.0.1:" + process.Port(t)}
	p.start(t, port(t, plain.Redirect), port(t, address(s)))
	roots := p.roots(t)

	stop := sites.Run(t, s, nil)
	tcp, udp := shown(t, s, roots)
	if tcp != udp {
		t.Errorf("TCP shows %s, QUIC %s", tcp, udp)
	}
	stop()
	files, err := os.ReadDir(d.State)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, f := range files {
		kept = append(kept, f.Name())
		if info, err := f.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others may read %s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
	if !slices.Contains(kept, domain) || slices.Contains(kept, domain+"+rsa") {
		t.Errorf("the folder has %q", kept)
	}
	s = listen(t, d)
	stop = sites.Run(t, s, nil)
	if again, _ := shown(t, s, roots); again != tcp {
		t.Errorf("after a restart it is %s, before it was %s", again, tcp)
	}
	stop()

	s = listen(t, plain) // the authority does not find its port of https
	stop = sites.Run(t, s, nil)
	if other, _ := shown(t, s, roots); other == tcp {
		t.Errorf("it is %s again", other)
	}
	stop()
}
