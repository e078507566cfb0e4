package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/session"
	"meanwhile/session/token"
	"meanwhile/transport"
)

// accept accepts connections and greets each in a goroutine of its own. Their number is bounded by
// the visitors that the listener's gate admits and the players that fit the rooms.
func (h *Host) accept(ctx context.Context, l transport.Listener, greeting *sync.WaitGroup) error {
	for {
		conn, err := l.Accept(ctx)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close(shuttingDown)
			}
			return nil
		case err != nil:
			return fmt.Errorf("%w: %s: %w", errListener, l.Addr(), err)
		}
		h.n.accepted.Add(1)
		greeting.Go(func() { h.greet(ctx, conn) })
	}
}

// greet admits a connection or refuses it, and returns when the connection has ended.
func (h *Host) greet(ctx context.Context, conn transport.Conn) {
	h.n.greeting.Add(1)
	began := h.clock()
	in, err := h.admit(ctx, conn)
	h.n.greeting.Add(-1)
	h.spanAdmission(conn, began, in, err)
	if err != nil {
		h.refuse(conn, err)
	} else {
		defer h.total.leave(in.share)
		left := in.attend(conn)
		h.countFlood(left)
		select {
		case in.r.leaves <- leaving{in.p.id, in.visit, left}:
		case <-in.r.done:
		}
	}
	<-conn.Done()
}

// spanAdmission tells Config.Spans how long a player waited. Who never said hello is left out.
func (h *Host) spanAdmission(conn transport.Conn, began clock.Time, in *entry, err error) {
	attrs := []slog.Attr{slog.String("transport", conn.Name())}
	var refused session.Refusal
	switch {
	case err == nil:
		attrs = append(attrs, slog.String("room", in.r.name), slog.Int("player", int(in.p.id)))
	case errors.As(err, &refused):
		attrs = append(attrs, slog.String("code", refused.Code.String()))
	default:
		return
	}
	h.span(SpanAdmission, began, err, attrs...)
}

// count counts a player's connection under its address until uncount is called. It refuses a
// newcomer whose address has too many; who comes back had its place before.
func (h *Host) count(from netip.Addr, newcomer bool) error {
	if !from.IsValid() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.from[from]; newcomer && n >= h.cfg.PlayersPerAddress {
		return refusal(session.Busy, "%d players come from your address already", n)
	}
	h.from[from]++
	return nil
}

// uncount forgets a connection that count counted, at once when another one takes over: its own end
// may come half a minute later.
func (h *Host) uncount(from netip.Addr) {
	if !from.IsValid() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.from[from]--; h.from[from] == 0 {
		delete(h.from, from)
	}
}

// An origin is whom something counts for: an account if a connect token names one, else an address.
// The zero origin is nobody in particular, such as programs on this machine.
type origin struct {
	account uint64
	address netip.Addr
}

func originOf(conn transport.Conn, grant token.Grant) origin {
	if grant.Player != 0 {
		return origin{account: grant.Player}
	}
	return origin{address: address(conn.Remote())}
}

// address returns what clients from remote ("host:port") count as; the zero Addr if they cannot be
// told apart.
func address(remote string) netip.Addr {
	if a, ok := transport.Origin(remote); ok {
		return a
	}
	return netip.Addr{}
}

// countFlood counts a player that was put out because it sent too much.
func (h *Host) countFlood(why error) {
	var closed *transport.CloseError
	if errors.As(why, &closed) && !closed.Remote && slices.Contains(transport.Floods, closed.Reason) {
		h.n.mu.Lock()
		h.n.flooded[closed.Reason]++
		h.n.mu.Unlock()
	}
}

// refusal makes a Refusal with a sentence for a person.
func refusal(code session.Code, format string, args ...any) session.Refusal {
	return session.Refusal{Code: code, Text: fmt.Sprintf(format, args...)}
}

// refuse sends the refusal in err, if it is one, and closes the connection.
func (h *Host) refuse(conn transport.Conn, err error) {
	var r session.Refusal
	if !errors.As(err, &r) { // the connection has ended, or no hello arrived in time
		h.log.Debug("no hello", "transport", conn.Name(), "from", conn.Remote(), "reason", err)
		conn.Close(err.Error())
		return
	}
	h.n.mu.Lock()
	h.n.refused[r.Code]++
	h.n.mu.Unlock()
	h.log.Debug("player refused", "transport", conn.Name(), "from", conn.Remote(),
		"code", r.Code, "reason", r.Text)
	r.Text = wire.CutText(r.Text, session.MaxText)
	if b, err := r.Append(nil); err == nil {
		_ = conn.SendMessage(b)
	}
	conn.Close(reason(r))
}

// admit reads the hello of a connection and brings its player into a room.
func (h *Host) admit(ctx context.Context, conn transport.Conn) (*entry, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, h.cfg.HelloTimeout,
		fmt.Errorf("no hello within %v", h.cfg.HelloTimeout))
	defer cancel()
	message, err := conn.ReceiveMessage(bounded)
	if err != nil {
		if ctx.Err() != nil {
			err = refusal(session.ShuttingDown, shuttingDown)
		}
		return nil, err
	}
	hello, err := session.DecodeHello(message)
	var version *session.VersionError
	switch {
	case errors.As(err, &version):
		return nil, refusal(session.WrongVersion,
			"this server speaks version %d of the protocol, you speak version %d", version.Want, version.Got)
	case err != nil:
		return nil, refusal(session.Malformed, "%v", err)
	}
	h.n.hellos.Add(1)
	rules := h.cfg.Rules
	if hello.Schema != rules.Hash {
		r := refusal(session.WrongSchema, "this server plays other rules of %s", rules.Name)
		r.SchemaText = wholeLines(rules.Text, session.MaxSchemaText)
		return nil, r
	}
	if hello.Room == "" {
		hello.Room = h.cfg.Room
	}
	if err := CheckRoom(hello.Room); err != nil {
		return nil, refusal(session.NoRoom, "%v", err)
	}
	if in, err := h.comeBack(bounded, conn, &hello); in != nil || err != nil {
		return in, err
	}
	if _, ends := h.ending(); ends {
		return nil, refusal(session.ShuttingDown, shuttingDown)
	}
	if h.cfg.Login != nil && len(hello.Token) == 0 {
		return nil, refusal(session.NoToken, noToken)
	}
	grant, settle, err := h.cfg.Login.check(&hello)
	if err != nil {
		h.log.Info("a connect token was refused", "from", conn.Remote(), "error", err)
		return nil, refusedToken(err)
	}
	if h.cfg.Login != nil {
		conn.Vouch()
	}
	from := address(conn.Remote())
	if err := h.bans.check(grant.Player, from); err != nil {
		settle(false)
		return nil, err
	}
	if grant.Name != "" {
		hello.Name = grant.Name
	}
	if hello.Name = cleanName(hello.Name); hello.Name == "" {
		hello.Name = guest
	}
	in, err := h.enter(bounded, conn, &hello, grant)
	settle(err == nil)
	return in, err
}

// wholeLines cuts a text to at most n bytes, at the end of a line.
func wholeLines(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:strings.LastIndexByte(s[:n], '\n')+1]
}

// enter brings a player into a room, and opens the room if it is not open.
func (h *Host) enter(
	ctx context.Context, conn transport.Conn, hello *session.Hello, grant token.Grant,
) (*entry, error) {
	open := h.open
	if hello.Watch {
		open = h.openGallery
	}
	r, err := open(hello, originOf(conn, grant))
	if err != nil {
		return nil, err
	}
	defer h.entered(r)
	return h.request(ctx, r, conn, hello.Guest,
		&joining{name: hello.Name, nonce: hello.Nonce, account: grant.Player})
}

// request asks a room to admit the player of a connection, or to let it go on, and sends the
// welcome.
func (h *Host) request(
	ctx context.Context, r *room, conn transport.Conn, guest [session.KeySize]byte, j *joining,
) (*entry, error) {
	mine, err := h.total.join(ctx)
	if err != nil {
		return nil, err
	}
	var in *entry
	defer func() {
		if in == nil {
			h.total.leave(mine)
		}
	}()
	if !j.only && r.of == nil {
		if j.profile, err = h.loadPlayer(ctx, r, j.account, guest); err != nil {
			return nil, err
		}
	}
	defer func() {
		if in == nil && j.profile != nil {
			h.keeper.release(j.profile)
		}
	}()
	j.share, j.peer, j.address, j.answer = mine, conn, address(conn.Remote()), make(chan error, 1)
	j.where = []slog.Attr{slog.String("transport", conn.Name()), slog.String("from", conn.Remote())}
	j.ready = func(p *player, w session.Welcome) {
		in = &entry{r, p, p.visit, mine}
		h.sit(r, p)
		conn.Deliver(p.in.Put)
		conn.Admit() // before the welcome: the client may answer it with a datagram
		b, err := w.Append(nil)
		if err == nil {
			err = conn.SendMessage(b)
		}
		if err != nil {
			conn.Close(err.Error())
		}
	}
	select {
	case r.joins <- j:
	default:
		return nil, refusal(session.Busy, "%d players wait to enter room %s", joinQueue, r.name)
	}
	// The loop answers within a tick, unless the rules of its world hang.
	select {
	case err := <-j.answer:
		return in, err
	case <-r.done:
		if j.taken.CompareAndSwap(false, true) {
			return nil, r.why
		}
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return nil, refusal(session.Busy, "room %s did not answer in time", r.name)
		}
	}
	select { // the loop has taken the request: it is about to answer, or fails over it
	case err := <-j.answer:
		return in, err
	case <-r.done:
	}
	select {
	case err := <-j.answer:
		return in, err
	default:
		return nil, r.why
	}
}

// An entry is one connection of a player in a room.
type entry struct {
	r     *room
	p     *player
	visit int // player.visit of this connection
	share *share
}

// attend receives a player's reliable messages until the connection ends, and returns why it ended.
// Players may ask for other limits. Nobody expects other messages, so too many end the connection.
func (in *entry) attend(conn transport.Conn) error {
	for n := 0; ; {
		m, err := conn.ReceiveMessage(context.Background()) // ends with the connection
		if err != nil {
			return err
		}
		if l, err := session.DecodeLimits(m); err == nil {
			in.r.call(func() { in.r.ask(in.p, in.visit, l) })
			time.Sleep(limitsSpacing)
			continue
		}
		if f, err := session.DecodeFollow(m); err == nil && in.r.of != nil {
			in.r.call(func() { in.r.lookFrom(in.p, in.visit, game.ID(f.Entity)) })
			time.Sleep(limitsSpacing)
			continue
		}
		n++
		in.r.n.stray.Add(1)
		if n > strayMessages {
			conn.Close("too many messages that nobody asked for")
		}
	}
}
