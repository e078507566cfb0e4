package quic_test

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"meanwhile/netcode/clock"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/internal/overquic"
	"meanwhile/transport/quic"
)

// The traffic of players, as a load of arena has it.
const (
	costPlayers = 50
	costDown    = 20  // datagrams a second to each, all at the same moment
	costUp      = 30  // from each, at moments of its own
	costBytes   = 400 // of one down
	costBytesUp = 60
	costSpan    = 4 * time.Second
)

// BenchmarkPlayers is what the traffic of a player costs without a game, both sides together:
// over quic-go alone, which is the floor, and over Conns. It runs by the wall's clock, so one
// iteration is enough: -benchtime 1x.
func BenchmarkPlayers(b *testing.B) {
	for _, s := range []struct {
		name string
		open func(b *testing.B) (servers, clients []sender)
	}{{"quic-go", bare}, {"conns", conns}} {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				servers, clients := s.open(b)
				spent := exchange(b, servers, clients)
				b.ReportMetric(100*spent.Seconds()/costSpan.Seconds()/costPlayers, "%-of-a-core/player")
			}
		})
	}
}

// A sender sends one datagram, which it may not keep.
type sender func(b []byte)

// exchange sends for a while, and returns the CPU time of this process.
func exchange(b *testing.B, servers, clients []sender) time.Duration {
	ctx, stop := context.WithTimeout(context.Background(), costSpan+time.Second)
	defer stop()
	var sending sync.WaitGroup
	defer sending.Wait()
	send := func(every time.Duration, size int, to ...sender) {
		sending.Go(func() {
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			datagram := make([]byte, size)
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
					for _, s := range to {
						s(datagram)
					}
				}
			}
		})
	}
	send(time.Second/costDown, costBytes, servers...)
	for i, c := range clients {
		time.AfterFunc(time.Duration(i)*time.Second/costUp/costPlayers, func() {
			if ctx.Err() == nil {
				send(time.Second/costUp, costBytesUp, c)
			}
		})
	}
	time.Sleep(time.Second)
	from := cpu(b)
	<-ctx.Done()
	return cpu(b) - from
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Skip(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bare connects clients with nothing but quic-go.
func bare(b *testing.B) (servers, clients []sender) {
	c, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		b.Fatal(err)
	}
	t := &tls.Config{GetCertificate: c.GetCertificate, NextProtos: []string{"floor"}}
	l, err := quicgo.ListenAddr("127.0.0.1:0", t, overquic.Config(0, 0))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	read := func(c *quicgo.Conn) sender {
		go func() {
			for {
				if _, err := c.ReceiveDatagram(context.Background()); err != nil {
					return
				}
			}
		}()
		return func(b []byte) { _ = c.SendDatagram(append([]byte(nil), b...)) }
	}
	for range costPlayers {
		socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = socket.Close() })
		t := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"floor"}}
		client, err := quicgo.Dial(b.Context(), socket, l.Addr(), t, overquic.Config(0, 0))
		if err != nil {
			b.Fatal(err)
		}
		server, err := l.Accept(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		servers, clients = append(servers, read(server)), append(clients, read(client))
	}
	return servers, clients
}

// conns connects clients as players are.
func conns(b *testing.B) (servers, clients []sender) {
	c, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		b.Fatal(err)
	}
	prints, err := c.Fingerprints()
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(start)) }
	l, err := quic.Listen(quic.Config{Clock: now, Certificate: c.GetCertificate})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close("") })
	for range costPlayers {
		client, err := quic.Dial(b.Context(), l.Addr(), quic.DialConfig{Clock: now, TLS: cert.Pin(prints...)})
		if err != nil {
			b.Fatal(err)
		}
		if err := client.SendMessage([]byte("hello")); err != nil {
			b.Fatal(err)
		}
		server, err := l.Accept(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		server.Admit()
		for _, c := range []transport.Conn{client, server} {
			c.Deliver(new(transport.Queue).Put)
		}
		servers, clients = append(servers, server.Send), append(clients, client.Send)
	}
	return servers, clients
}
