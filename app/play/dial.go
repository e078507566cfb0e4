package play

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"meanwhile/app/offer"
	"meanwhile/game"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/cert"
)

// A dialer connects to a server, again and again. It is used by one goroutine at a time.
type dialer struct {
	rules *game.Rules
	base  *url.URL // of the server's page
	o     *Options
	clock transport.Clock
}

func newDialer(rules *game.Rules, address string, o *Options) (*dialer, error) {
	if address == "" {
		address = here()
	}
	base, err := parse(address)
	if err != nil {
		return nil, err
	}
	return &dialer{rules: rules, base: base, o: o, clock: newClock()}, nil
}

// parse reads the address of a server's page. Without a scheme it is http on this machine and https
// elsewhere.
func parse(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		u, err := url.Parse("//" + address)
		scheme := "https:"
		if err == nil && offer.Loopback(u.Hostname()) {
			scheme = "http:"
		}
		address = scheme + "//" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("play: %q is no address of a server; it looks like https://play.example.org or localhost:8080",
			address)
	}
	return u, nil
}

// follow makes to the server of later connections, if it is an address.
func (d *dialer) follow(to string) {
	if base, err := parse(to); err == nil {
		d.base = base
	}
}

// ask asks the server what it offers. A server that ends may name another one.
func (d *dialer) ask(ctx context.Context) (*offer.Server, error) {
	s, err := d.askOne(ctx)
	if err == nil && s.To != "" {
		d.follow(s.To)
		s, err = d.askOne(ctx)
	}
	return s, err
}

func (d *dialer) askOne(ctx context.Context) (*offer.Server, error) {
	trust, err := d.trust()
	if err != nil {
		return nil, err
	}
	s, err := offer.Ask(ctx, d.base, d.o.Room, trust)
	if err != nil {
		return nil, d.explain(err)
	}
	if s.Game != d.rules.Name {
		return nil, fmt.Errorf("play: the server at %s plays %s, this program %s", d.base.Host, s.Game, d.rules.Name)
	}
	if d.o.Fingerprint != "" {
		s.Trust = trust
	}
	return s, nil
}

// trust returns the authorities that may have signed the certificate of the server's page; nil:
// those of this machine.
func (d *dialer) trust() (*tls.Config, error) {
	switch {
	case d.o.Fingerprint != "":
		var f cert.Fingerprint
		b, err := hex.DecodeString(strings.ReplaceAll(d.o.Fingerprint, ":", ""))
		if err != nil || copy(f[:], b) != len(f) || len(b) != len(f) {
			return nil, fmt.Errorf("play: Options.Fingerprint %q is not the %d hexadecimal digits of a SHA-256",
				d.o.Fingerprint, 2*len(f))
		}
		return cert.Pin(f), nil
	case d.o.Roots != nil:
		return &tls.Config{RootCAs: d.o.Roots}, nil
	case offer.Loopback(d.base.Hostname()): // nobody stands in between
		return &tls.Config{InsecureSkipVerify: true}, nil
	}
	return nil, nil
}

// explain says of an error of TLS what can be done about it.
func (d *dialer) explain(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("play: nobody whom this machine trusts vouches for the certificate of %s; pass its authority in "+
			"Options.Roots, or, for a server of your own, its SHA-256 in Options.Fingerprint: %w", d.base.Host, err)
	case errors.As(err, &name):
		return fmt.Errorf("play: the certificate is not one of %s; dial the server by its name: %w", d.base.Hostname(), err)
	case errors.Is(err, cert.ErrNotPinned):
		return fmt.Errorf("play: the certificate of %s is not that of Options.Fingerprint: it was renewed, or another "+
			"server answers: %w", d.base.Host, err)
	}
	return fmt.Errorf("play: %w", err)
}

// refused says why a server does not let a player in, or sends it away.
func refused(rules *game.Rules, err error) error {
	var r session.Refusal
	if !errors.As(err, &r) {
		return fmt.Errorf("play: %w", err)
	}
	if r.Code == session.WrongSchema {
		how := session.Difference(r.SchemaText, rules.Text)
		if how == "" {
			how = "the network would read it otherwise"
		}
		return &refusal{fmt.Sprintf("play: the server plays another version of %s: %s; build the server and this program "+
			"from the same rules", rules.Name, how), r}
	}
	why := r.Text
	if why == "" {
		why = r.Code.String()
	}
	return &refusal{"play: the server refuses: " + why, r}
}

// A refusal is a session.Refusal in other words.
type refusal struct {
	text string
	r    session.Refusal
}

func (e *refusal) Error() string { return e.text }
func (e *refusal) Unwrap() error { return e.r }
