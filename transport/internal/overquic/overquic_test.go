package overquic

import (
	"testing"
	"time"

	"meanwhile/netcode/packet"
	"meanwhile/transport"
)

// These limits bound what one connection can make a process hold and how long it may be silent;
// their effect on strangers is tested in package quic. quic-go takes far larger defaults for zeros.
func TestLimits(t *testing.T) {
	c := Config(0, 0)
	for _, l := range []struct {
		name      string
		got, want uint64
	}{
		{"MaxIncomingStreams", uint64(c.MaxIncomingStreams), 8},
		{"MaxIncomingUniStreams", uint64(c.MaxIncomingUniStreams), 8},
		{"InitialStreamReceiveWindow", c.InitialStreamReceiveWindow, 64 << 10},
		{"InitialConnectionReceiveWindow", c.InitialConnectionReceiveWindow, 64 << 10},
		{"MaxStreamReceiveWindow", c.MaxStreamReceiveWindow, 256 << 10},
		{"MaxConnectionReceiveWindow", c.MaxConnectionReceiveWindow, 384 << 10},
	} {
		if l.got != l.want {
			t.Errorf("%s is %d, want %d", l.name, l.got, l.want)
		}
	}
	if c.InitialPacketSize != 0 || !c.DisablePathMTUDiscovery {
		t.Errorf("packets begin at %d bytes, and grow: %v", c.InitialPacketSize, !c.DisablePathMTUDiscovery)
	}
	if c.MaxIdleTimeout != transport.IdleTimeout || c.HandshakeIdleTimeout != transport.HelloTimeout ||
		c.KeepAlivePeriod != packet.KeepAlive {
		t.Errorf("timeouts: idle %v, handshake %v, keep-alive %v",
			c.MaxIdleTimeout, c.HandshakeIdleTimeout, c.KeepAlivePeriod)
	}
	if c = Config(4*time.Second, time.Second); c.KeepAlivePeriod != 2*time.Second {
		t.Errorf("with an idle timeout of 4 s the keep-alive period is %v, want half of it", c.KeepAlivePeriod)
	}
}
