package overquic

import (
	"bytes"
	"errors"
	"net"
	"testing"

	"golang.org/x/net/ipv4"
)

// datagram returns n bytes that begin with head.
func datagram(n int, head ...byte) []byte {
	b := make([]byte, n)
	copy(b, head)
	return b
}

func TestMayBeQUIC(t *testing.T) {
	for _, c := range []struct {
		name string
		b    []byte
		may  bool
	}{
		{"empty", nil, false},
		{"a short header", datagram(21, 0x40), true},
		{"one byte less than any packet", datagram(20, 0x40), false},
		{"neither form", datagram(1300, 0x3f), false},
		{"the first packet of a client", datagram(1200, 0xc3, 0, 0, 0, 1, 8), true},
		{"a first packet without padding", datagram(1199, 0xc3, 0, 0, 0, 1, 8), false},
		{"a handshake packet", datagram(100, 0xe3, 0, 0, 0, 1, 8), true},
		{"0-RTT", datagram(100, 0xd3, 0, 0, 0, 1, 8), true},
		{"version 2: first packet", datagram(1200, 0xd3, 0x6b, 0x33, 0x43, 0xcf), true},
		{"version 2: first packet without padding", datagram(1199, 0xd3, 0x6b, 0x33, 0x43, 0xcf), false},
		{"version 2: handshake packet", datagram(100, 0xf3, 0x6b, 0x33, 0x43, 0xcf), true},
		{"a long header without the fixed bit", datagram(1200, 0x83, 0, 0, 0, 1, 8), false},
		{"a version that must be answered", datagram(1200, 0x83, 1, 2, 3, 4), true},
		{"one too short for an answer", datagram(1199, 0xc3, 1, 2, 3, 4), false},
		{"version negotiation", datagram(1300, 0xc0, 0, 0, 0, 0), false},
	} {
		if got := mayBeQUIC(c.b); got != c.may {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Datagrams between garbage keep their bytes, control messages and senders, each buffer stays with
// its message, and a batch of nothing but garbage is not handed on.
func TestSocketDropsGarbage(t *testing.T) {
	type arrival struct {
		data, oob []byte
		from      int
	}
	good := func(n byte) arrival { return arrival{bytes.Repeat([]byte{0x40 | n}, 30+int(n)), []byte{n, n}, int(n)} }
	bad := arrival{bytes.Repeat([]byte{1}, 500), []byte{9, 9, 9}, 9}
	batches := [][]arrival{{bad, bad}, {good(1), bad, good(2), bad, good(3)}}
	over := errors.New("no more")
	s := &Socket{read: func(ms []ipv4.Message, _ int) (int, error) {
		if len(batches) == 0 {
			return 0, over
		}
		for i, a := range batches[0] {
			m := &ms[i]
			m.N, m.NN = copy(m.Buffers[0], a.data), copy(m.OOB, a.oob)
			m.Addr = &net.UDPAddr{Port: a.from}
		}
		n := len(batches[0])
		batches = batches[1:]
		return n, nil
	}}
	ms := make([]ipv4.Message, 8)
	var buffers [8]*byte
	for i := range ms {
		ms[i].Buffers, ms[i].OOB = [][]byte{make([]byte, 1452)}, make([]byte, 128)
		buffers[i] = &ms[i].Buffers[0][0]
	}
	n, err := s.ReadBatch(ms, 0)
	if n != 3 || err != nil {
		t.Fatalf("%d datagrams, %v", n, err)
	}
	for i := range n {
		m, want := ms[i], good(byte(i+1))
		if !bytes.Equal(m.Buffers[0][:m.N], want.data) || !bytes.Equal(m.OOB[:m.NN], want.oob) ||
			m.Addr.(*net.UDPAddr).Port != want.from {
			t.Errorf("datagram %d: %x, %x, from %v", i, m.Buffers[0][:m.N], m.OOB[:m.NN], m.Addr)
		}
	}
	for i := range ms {
		if buffers[i] != &ms[i].Buffers[0][0] {
			t.Errorf("buffer %d has moved", i)
		}
	}
	if got := s.Garbage(); got != 4 {
		t.Errorf("%d datagrams counted as garbage, want 4", got)
	}
	if _, err := s.ReadBatch(ms, 0); !errors.Is(err, over) {
		t.Errorf("the end: %v", err)
	}
}
