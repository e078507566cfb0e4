package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"meanwhile/app/site"
	"meanwhile/examples/arena"
	"meanwhile/host"
	"meanwhile/internal/verify/authority"
	"meanwhile/internal/verify/sites"
)

// openSite serves the arena with a program that no browser could run.
func openSite(t *testing.T, d site.Door) *site.Site {
	t.Helper()
	return openLogged(t, d, nil)
}

func openLogged(t *testing.T, d site.Door, log *slog.Logger) *site.Site {
	t.Helper()
	program, err := site.NewProgram([]byte("\x00asm"+strings.Repeat("meanwhile ", 100)), nil, []byte("// wasm_exec.js"))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := sites.Serve(t, site.Config{Door: d, Host: host.Config{Rules: sites.Rules(t, &arena.Game), Log: log}}, program)
	return s
}

// examine runs a doctor that trusts an authority and returns what it printed.
func examine(t *testing.T, a *authority.Authority, d doctor) (string, error) {
	t.Helper()
	d.roots = a.Pool()
	if d.Timeout == 0 {
		d.Timeout = 20 * time.Second
	}
	var out bytes.Buffer
	err := d.run(t.Context(), &out)
	return out.String(), err
}

// A server that is well passes every check, with a certificate of an authority and without.
func TestDoctorFindsAServerWell(t *testing.T) {
	a := authority.New(t)
	for _, secure := range []bool{true, false} {
		d := site.Door{Origin: []string{"https://me.github.io"}}
		if secure {
			d.TLSCert, d.TLSKey = a.Issue(time.Now().Add(200*time.Hour), "localhost", "127.0.0.1")
		}
		s := openSite(t, d)
		out, err := examine(t, a, doctor{Address: strings.TrimSuffix(s.URL(), "/"), Origin: []string{"https://me.github.io"}})
		if err != nil || strings.Contains(out, "FAILS") {
			t.Errorf("%v\n%s", err, out)
		}
		want := []string{"page ", "clock ", "game          arena, room lobby", "version ", "/arena.wasm", "/wasm_exec.js",
			"udp ", "webtransport ", "websocket ", "pages of https://me.github.io may play", "pages of other hosts may not play"}
		if secure {
			want = append(want, "for localhost, by Meanwhile test intermediate, for 8 more days")
		}
		for _, line := range want {
			if !strings.Contains(out, line) {
				t.Errorf("secure %v: there is no %q in\n%s", secure, line, out)
			}
		}
		if strings.Contains(out, "an answer in") && strings.Contains(out, `: "`) {
			t.Errorf("the doctor was taken for something else:\n%s", out)
		}
	}
}

// A doctor leaves nothing in the server's log that would alarm whoever runs it, and asks for nothing
// that the server would refuse.
func TestDoctorAlarmsNobody(t *testing.T) {
	a, log := authority.New(t), &sites.Log{}
	s := openLogged(t, site.Door{}, log.Logger())
	if out, err := examine(t, a, doctor{Address: s.URL()}); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the server says\n%s", log)
	}
	out, err := examine(t, a, doctor{Address: s.URL(), Origin: []string{"foo"}})
	if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), `--origin "foo" is not an origin`) || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
}

// Each illness has a line that names it and how to mend it, and the exit status says that there is
// one.
func TestDoctorNamesWhatIsWrong(t *testing.T) {
	a := authority.New(t)
	well := openSite(t, site.Door{})
	noUDP := openSite(t, site.Door{UDP: "off"})
	black, err := net.ListenPacket("udp", "127.0.0.1:0") // never answers
	if err != nil {
		t.Fatal(err)
	}
	defer black.Close()
	_, blackPort, _ := net.SplitHostPort(black.LocalAddr().String())
	header := func(path, name, value string) func(*http.Response) error {
		return func(r *http.Response) error {
			if r.Request.URL.Path == path {
				r.Header.Set(name, value)
			}
			return nil
		}
	}
	body := func(path string, change func(string) string) func(*http.Response) error {
		return func(r *http.Response) error {
			if r.Request.URL.Path != path {
				return nil
			}
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			text := change(string(b))
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			r.Header.Del("Content-Length")
			return nil
		}
	}
	year := time.Now().Add(365 * 24 * time.Hour)
	for name, c := range map[string]struct {
		ill    func(*http.Response) error // what a proxy before the server does to its answers
		site   *site.Site
		hosts  []string // of the certificate
		until  time.Time
		origin string
		short  time.Duration
		want   string
	}{
		"name":    {hosts: []string{"other.example"}, want: "it is for other.example, not for localhost: get one"},
		"expired": {until: time.Now().Add(-time.Hour), want: ": renew it"},
		"soon":    {until: time.Now().Add(50 * time.Hour), want: "it ends in 50h0m0s"},
		"headers": {ill: header("/", "Cross-Origin-Opener-Policy", "x"), want: "the page gets a coarse clock: see that a " +
			"proxy"},
		"clock": {ill: header("/", "Date", "Mon, 02 Jan 2006 15:04:05 GMT"), want: "off: set both by NTP"},
		"type":  {ill: header("/arena.wasm", "Content-Type", "text/plain"), want: `/arena.wasm is "text/plain"`},
		"exec":  {ill: header("/wasm_exec.js", "Content-Type", "text/plain"), want: `/wasm_exec.js is "text/plain"`},
		"game":  {ill: body("/meanwhile.json", func(string) string { return "hello" }), want: "does not answer like"},
		"version": {ill: body("/meanwhile.json", func(s string) string {
			return strings.Replace(s, `schema":"4-`, `schema":"3-`, 1)
		}), want: "speaks version 3 of the protocol, this program 4"},
		"ends": {ill: body("/meanwhile.json", func(s string) string { return strings.Replace(s, "{", `{"ends":true,`, 1) }),
			want: "the server is about to end and admits nobody new: wait for the next one"},
		"page": {ill: func(r *http.Response) error { r.StatusCode, r.Status = 404, "404"; return nil }, want: "--web"},
		"misnamed": {ill: func(r *http.Response) error { r.StatusCode = 421; return nil }, want: "does not know its name " +
			"localhost: start it with --public-addr localhost:"},
		"udp": {ill: body("/meanwhile.json", func(s string) string {
			i := strings.Index(s, `"url":":`) + len(`"url":":`)
			return s[:i] + blackPort + s[strings.Index(s[i:], "/")+i:]
		}), short: 5 * time.Second, want: ": open UDP port " + blackPort},
		"websocket": {ill: func(r *http.Response) error {
			if r.StatusCode == http.StatusSwitchingProtocols {
				return errors.New("not here")
			}
			return nil
		}, want: ": let the proxy pass WebSockets on"},
		"origin":  {origin: "https://me.github.io", want: "pages of https://me.github.io may not play (403"},
		"udp off": {site: noUDP, want: "udp           the server offers none (--udp off)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.site
			if s == nil {
				s = well
			}
			u, err := url.Parse(s.URL())
			if err != nil {
				t.Fatal(err)
			}
			proxy := &httputil.ReverseProxy{
				Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u); r.Out.Host = r.In.Host },
				ModifyResponse: func(r *http.Response) error {
					if c.ill == nil {
						return nil
					}
					return c.ill(r)
				},
				ErrorLog: log.New(io.Discard, "", 0),
			}
			if c.hosts == nil {
				c.hosts = []string{"localhost"}
			}
			if c.until.IsZero() {
				c.until = year
			}
			pair, err := tls.LoadX509KeyPair(a.Issue(c.until, c.hosts...))
			if err != nil {
				t.Fatal(err)
			}
			front := httptest.NewUnstartedServer(proxy)
			front.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
			front.Config.ErrorLog = log.New(io.Discard, "", 0)
			front.StartTLS()
			defer front.Close()
			d := doctor{Address: strings.Replace(front.URL, "127.0.0.1", "localhost", 1), Timeout: c.short}
			if c.origin != "" {
				d.Origin = []string{c.origin}
			}
			out, err := examine(t, a, d)
			if !strings.Contains(out, c.want) {
				t.Errorf("there is no %q in\n%s", c.want, out)
			}
			if ill := name != "udp off"; ill != errors.As(err, new(errUnwell)) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	stranger := authority.New(t)
	certFile, keyFile := stranger.Issue(year, "localhost", "127.0.0.1")
	s := openSite(t, site.Door{TLSCert: certFile, TLSKey: keyFile})
	out, err := examine(t, a, doctor{Address: s.URL()})
	if !errors.As(err, new(errUnwell)) || !strings.Contains(out, "by Meanwhile test root, whom this machine does not") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = examine(t, a, doctor{Address: strings.Replace(well.URL(), "http:", "https:", 1)})
	if !errors.As(err, new(errUnwell)) || !strings.Contains(out, "speaks plain http: start the server with --acme") {
		t.Errorf("%v\n%s", err, out)
	}
}
