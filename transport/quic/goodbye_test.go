package quic

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
	wt "github.com/quic-go/webtransport-go"

	"meanwhile/transport"
	"meanwhile/transport/internal/conntest"
	"meanwhile/transport/webtransport"
)

// A client that leaves may ask the server to send no more on the session's stream before its
// goodbye there is read. The server then reads no more either; the connection has the reason, too.
func TestGoodbyeOfADeafSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reason = "the last round is over"
		if e := goodbyeOfADeafSession(t, func(c *quic.Conn) { _ = c.CloseWithError(0, reason) }); e.Reason != reason {
			t.Errorf("the server got %v, want %q", e, reason)
		}
	})
	// Without that no reason is left, but that it was the peer who ended it.
	synctest.Test(t, func(t *testing.T) { goodbyeOfADeafSession(t, func(*quic.Conn) {}) })
}

// goodbyeOfADeafSession opens a session, says something in it, ends the stream, asks the server to
// send no more, and calls end when the server has given the session up. It returns why the server's
// connection ended.
func goodbyeOfADeafSession(t *testing.T, end func(*quic.Conn)) *transport.CloseError {
	t.Helper()
	l := inBubble(t, Config{})
	ctx := conntest.Context(t)
	c, err := l.raw(t, webtransport.ALPN)
	if err != nil {
		t.Fatal(err)
	}
	client := (&http3.Transport{EnableDatagrams: true, AdditionalSettings: map[uint64]uint64{
		0x2b61: 1000, 0x2b64: 1, 0x2b65: 1, // WT_INITIAL_MAX_DATA, _STREAMS_UNI, _STREAMS_BIDI
		0x2c7cf000: 1, // WT_ENABLED
	}}).NewClientConn(c)
	session, err := client.OpenRequestStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := &http.Request{Method: http.MethodConnect, Proto: "webtransport-h3", Header: http.Header{}, Host: l.Addr(),
		URL: &url.URL{Scheme: "https", Host: l.Addr(), Path: transport.Path}}
	if err := session.SendRequestHeader(r.WithContext(ctx)); err != nil {
		t.Fatal(err)
	}
	if a, err := session.ReadResponse(); err != nil || a.StatusCode != http.StatusOK {
		t.Fatal(a, err)
	}
	stream, err := c.OpenStreamSync(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b := quicvarint.Append(nil, 0x41) // WT_STREAM
	b = quicvarint.Append(b, uint64(session.StreamID()))
	if _, err := stream.Write(transport.AppendFrame(b, []byte("hello"))); err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	server.Admit()
	if m, err := server.ReceiveMessage(ctx); err != nil || string(m) != "hello" {
		t.Fatalf("%q, %v", m, err)
	}

	session.CancelRead(wt.WTSessionGoneErrorCode)
	synctest.Wait()
	_ = stream.Close()
	if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 {
		t.Fatalf("instead of its goodbye the server wrote %q, %v", rest, err)
	}
	conntest.Wait(t, session.Context().Done(), "the server goes on with the session")
	end(c)
	conntest.Wait(t, server.Done(), "the server does not end")
	var closed *transport.CloseError
	if !errors.As(server.Err(), &closed) || !closed.Remote {
		t.Errorf("the server got %v, want a goodbye of its client", server.Err())
	}
	return closed
}

// Who waits for clients learns that the socket has failed, and waits for nobody.
func TestFailedSocketEndsTheListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inBubble(t, Config{})
		_ = l.Listener.socket.Close()
		if _, err := l.Accept(conntest.Context(t)); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Accept ended with %v", err)
		}
		<-l.closed
	})
}
