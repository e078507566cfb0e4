package host

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/geom"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

const (
	// joinQueue is how many players wait between two ticks for a room to admit them. Further ones
	// are refused as busy.
	joinQueue = 64
	// limitsSpacing is the least time between two changes of limits that a player asks for.
	limitsSpacing = 100 * time.Millisecond
	// lookEvery is how often a room looks for silent players and publishes its counters.
	lookEvery = time.Second
	// sendSpread is by how much the times differ that a room's datagrams take from encoding to
	// their connection.
	sendSpread = 10 * time.Millisecond
)

// A room is one world and the loop that runs it. The loop alone touches the world and the players;
// datagrams wait in the players' queues for the next tick.
type room struct {
	h     *Host
	name  string
	by    origin // who opened it
	code  string // that opens it; empty: it is public
	log   *slog.Logger
	world uint64 // see journal.Header
	srv   *journal.Server
	pacer clock.Pacer

	players   map[server.PlayerID]*player
	order     []*player // by rising id
	humans    int
	empty     clock.Time    // when the last human left, if humans is 0
	stayed    bool          // a human has been here for the time Stay
	company   atomic.Uint64 // 0 while no human is here, then how often that has changed; for the bots
	companies uint64
	looked    clock.Time // when look ran last
	warned    bool       // that the world's numbers run short
	silent    []server.PlayerID
	spare     []byte
	seqs      []wire.Seq
	batch     batch
	faults    faultLog
	n         roomCounters

	joins  chan *joining
	leaves chan leaving
	calls  chan func()   // from tests and tools: run by the loop between two ticks
	ticked chan struct{} // holds a token after a tick, for the bots
	done   chan struct{}
	why    session.Refusal // why the room has ended; set before done is closed

	pending int // players on their way in; guarded by h.mu

	last       lasting
	archive    *archive   // nil: the room is not recorded
	revived    bool       // after a crash
	unrecorded bool       // since something went wrong
	failing    bool       // rules failed since record ran
	moment     clock.Time // when a moment was saved because rules failed; 0: never
	spectators spectators
	heart      heart
	tail       *journal.Tail // of what is recorded; nil: nobody follows
	gallery    *room         // of those who watch; guarded by h.mu
	parted     clock.Time    // when a moment was saved because a follower differed; 0: never
	of         *gallery      // what those here watch; nil: they play

	pub struct {
		sync.Mutex
		RoomStats
	}
}

// A player is a human or bot in a room.
type player struct {
	id      server.PlayerID
	name    string
	peer    peer
	bot     bool
	nonce   [session.KeySize]byte
	account uint64
	address netip.Addr // see address
	counted netip.Addr // by Host.count: that of its connection, if it has one
	entered clock.Tick // the tick of joining
	profile *profile   // nil: what it gains does not last
	joined  clock.Time
	log     *slog.Logger

	class server.Limits  // what it is sent at most
	wish  session.Limits // what it asked for
	share *share         // of the host's budget; nil: there is none
	now   int64          // the share's cap that is in force

	back     resumption
	reported clock.Time // when it reported a moment; 0: never
	visit    int        // which of its connections is the present one, from 0

	in              *transport.Queue
	sent, sentBytes atomic.Uint64
	meter           meter
	tallied         PathStats // see countPath
	reports         uint64    // likewise: how many the client had made
}

// send hands a datagram to the connection, and counts it.
func (p *player) send(now clock.Time, datagram []byte) {
	p.peer.Send(datagram)
	p.sent.Add(1)
	p.sentBytes.Add(uint64(len(datagram)))
	p.meter.add(now, len(datagram)+wire.Overhead)
}

// A peer is what a room needs of a connection. A transport.Conn is one, and so is a bot.
type peer interface {
	// Send sends a datagram, or drops it: it never blocks, and it does not retain the slice.
	Send(datagram []byte)
	// Dropped appends the sequence numbers of datagrams that Send dropped since the last call.
	Dropped(seqs []wire.Seq) []wire.Seq
	// SendMessage queues a reliable message.
	SendMessage(message []byte) error
	// Close ends the connection without waiting.
	Close(reason string)
}

// joining is a request to admit a player.
type joining struct {
	name    string
	peer    peer
	bot     bool
	nonce   [session.KeySize]byte
	resume  [session.KeySize]byte // of the session to go on with; zeros: none
	kept    bool                  // the client has what it received in that
	only    bool                  // it may resume, but not join anew
	account uint64
	address netip.Addr // see address
	profile *profile
	share   *share
	where   []slog.Attr
	// ready is called by the room's loop once the player is in, before its first datagram is sent.
	ready func(p *player, w session.Welcome)
	// taken is set once: by the loop, which then answers, or by the caller, who then no longer
	// waits.
	taken  atomic.Bool
	answer chan error // a session.Refusal or nil; buffered, so that the loop never waits for the caller
}

// leaving reports a player whose connection has ended.
type leaving struct {
	id    server.PlayerID
	visit int
	why   error
}

// newRoom makes a room and its world; run starts it.
func newRoom(h *Host, name string, by origin) (*room, error) {
	secret, seed, err := h.seeds(name)
	if err != nil {
		return nil, err
	}
	r := makeRoom(h, name, by)
	var put func(journal.Chunk) bool
	r.world = rand.Uint64()
	header := journal.Header{}
	if r.archive != nil || r.tail != nil {
		put, header = r.put, journal.Header{Build: Build(), World: r.world, Started: time.Now()}
	}
	r.srv, err = journal.New(h.cfg.Rules, h.worldConfig(name, secret, seed), header, put)
	if err != nil {
		return nil, err
	}
	r.setUp()
	return r, nil
}

// worldConfig returns how the world of a room is opened.
func (h *Host) worldConfig(name string, secret, seed uint64) server.Config {
	return server.Config{Seed: seed, Secret: secret, Clients: h.cfg.Players + h.cfg.Bots, Budget: h.cfg.Budget,
		Rewind: h.cfg.Rewind, RewindTotal: h.cfg.RewindTotal, Playout: h.cfg.Playout, Guard: sendSpread, Room: name}
}

// makeRoom makes a room without a world.
func makeRoom(h *Host, name string, by origin) *room {
	r := &room{
		h: h, name: name, by: by, log: h.log.With("room", name),
		players: make(map[server.PlayerID]*player),
		joins:   make(chan *joining, joinQueue), leaves: make(chan leaving), calls: make(chan func()),
		ticked: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if h.cfg.Journal != "" {
		r.archive = newArchive(h, name, r.log)
	}
	if h.cfg.Spectators > 0 || h.cfg.Check {
		r.tail = journal.NewTail(h.cfg.WatchLate)
	}
	r.batch.r = r
	r.faults.log = r.log
	return r
}

// setUp completes a room that has its world.
func (r *room) setUp() {
	r.pacer.Step = r.srv.Period()
	r.heart.clock, r.heart.spend = r.h.clock, r.srv.Beat
}

// seeds draws the randomness of a room: a secret that stays here, and a seed that clients predict
// with.
func (h *Host) seeds(name string) (secret, seed uint64, err error) {
	if h.cfg.Seed == 0 {
		return randomPair()
	}
	parts := []uint64{h.cfg.Seed}
	for _, c := range []byte(name) {
		parts = append(parts, uint64(c))
	}
	rand := geom.NewRand(parts...)
	return rand.Uint64(), rand.Uint64(), nil
}

// run runs a room until ctx ends, its world fails, or no human has been here for the grace time.
func (r *room) run(ctx context.Context) {
	r.log.Info("room opened")
	opened := r.h.clock()
	r.empty, r.looked = opened, opened
	bots, stop := context.WithCancel(context.Background())
	var crew sync.WaitGroup // the room's other goroutines
	if r.h.cfg.Bots > 0 {
		crew.Go(func() { (&crowd{r: r}).run(bots) })
	}
	crew.Go(func() { r.heart.run(bots) })
	if r.h.cfg.Check {
		crew.Go(func() { r.check(bots) })
	}
	stopArchive := r.archiving()
	var why session.Refusal
	if err := r.loadRoom(ctx); err == nil {
		why = r.loop(ctx)
	} else if !errors.As(err, &why) {
		why = session.Refusal{Code: session.InternalError, Text: "the room could not be loaded"}
	}

	r.why = why
	for _, p := range slices.Clone(r.order) {
		r.part(p, why)
	}
	r.keepLast(why)
	r.spectators.close()
	r.srv.Flush() // for those who watch
	close(r.done)
	stop()
	crew.Wait()
	r.h.ended(r, why)
	r.log.Info("room closed", "reason", why.Text, "after", r.h.clock().Sub(opened).Round(time.Millisecond))
	stopArchive(why) // last, as nobody waits for the disk
}

// part sends a player away when its room ends. The world may be broken, but every player must hear
// of it.
func (r *room) part(p *player, why session.Refusal) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("a player could not be taken out of a world that has ended", "player", p.id, "panic", v)
			p.peer.Close(reason(why))
			r.free(p)
		}
	}()
	r.sendAway(p, why)
}

// loop runs the world and returns why it ended. A panic of anything that it calls ends this world,
// not the process.
func (r *room) loop(ctx context.Context) (why session.Refusal) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	broken := session.Refusal{Code: session.InternalError, Text: "the world of this room has failed; join again"}
	over := func() session.Refusal {
		if r.of != nil && r.of.why.Code != 0 {
			return r.of.why
		}
		return broken
	}
	defer func() {
		if v := recover(); v != nil {
			r.failed(caught(v))
			why = broken
		}
		r.publish()
	}()
	// The first tick runs before the first player joins, so that every welcome has the present
	// time.
	if !r.due() {
		return over()
	}
	for {
		select {
		case <-ctx.Done():
			return session.Refusal{Code: session.ShuttingDown, Text: shuttingDown}
		case j := <-r.joins:
			if j.taken.CompareAndSwap(false, true) {
				j.answer <- r.join(j)
			}
		case l := <-r.leaves:
			r.leave(l)
		case f := <-r.calls:
			f()
		case <-timer.C:
			if !r.due() {
				return over()
			}
			now := r.h.clock()
			if now.Sub(r.looked) >= lookEvery {
				r.look(now)
				if why, over := r.wear(r.srv.Worn()); over {
					return why
				}
			}
			if r.humans == 0 && (!r.stayed || now.Sub(r.empty) >= r.h.cfg.Grace) && r.h.retire(r) {
				return session.Refusal{Code: session.NoRoom, Text: "nobody was here"}
			}
			timer.Reset(max(r.next().Sub(r.h.clock()), 0))
		}
	}
}

// due runs the ticks that are due, and reports whether the world still works.
func (r *room) due() bool {
	if r.of != nil {
		return r.of.due(r)
	}
	for i := range r.pacer.Due(r.h.clock()) {
		began := r.h.clock()
		planned, spacing := r.pacer.Planned(i), r.pacer.Spacing()
		r.srv.SetPeriod(spacing)
		r.heart.begins(r.srv.Tick()+1, planned, spacing)
		if err := r.tick(planned); err != nil {
			r.failed(err)
			return false
		}
		took := r.h.clock().Sub(began)
		r.pacer.Ran(took)
		r.n.ran(took)
		if took > time.Second/time.Duration(r.srv.Rules().Rate) {
			r.h.span(SpanTick, began, nil, slog.String("room", r.name), slog.Int("tick", int(r.srv.Tick())),
				slog.Int("players", len(r.order)), slog.Duration("period", spacing))
		}
	}
	return true
}

// next returns when a tick is due next.
func (r *room) next() clock.Time {
	if r.of != nil {
		return r.of.next
	}
	return r.pacer.Next()
}

// failed logs why the world of this room ends.
func (r *room) failed(err *failure) {
	r.log.Error("the world of this room has failed", "tick", r.srv.Tick(), "panic", err.value, "stack",
		string(err.stack))
}

// tick runs one tick, which begins at now, and returns a panic that the core did not catch.
func (r *room) tick(now clock.Time) (err *failure) {
	defer func() {
		if v := recover(); v != nil {
			err = caught(v)
		}
	}()
	for _, p := range r.order {
		for ok := true; ok; {
			var at clock.Time
			if r.spare, at, ok = p.in.Take(r.spare); ok {
				r.srv.Receive(p.id, at, r.spare)
				p.back.confirm()
			}
		}
		if p.share != nil && p.share.cap.Load() != p.now {
			r.limit(p)
		}
		r.seqs = p.peer.Dropped(r.seqs[:0])
		for _, seq := range r.seqs { // due again at once, and no loss on the path
			r.srv.Dropped(p.id, seq)
		}
	}
	r.heart.opens(true)
	r.begin(now)
	r.srv.LeaveAt(r.h.clock())
	if err := r.batch.run(r.h.pool, r.srv.Clients()); err != nil {
		return err
	}
	r.srv.End()
	r.keep(now)
	for _, f := range r.srv.Faults() {
		r.n.faults.Add(1)
		r.faults.add(f, now)
		r.h.noteFault(f)
		r.failing = true
	}
	for _, e := range r.srv.Ends() {
		r.end(e)
	}
	r.record(now)
	r.spectators.publish(r, now)
	select {
	case r.ticked <- struct{}{}:
	default: // the bots still work on the last tick
	}
	return nil
}

// begin runs the rules of a tick. Heartbeats may be sent meanwhile.
func (r *room) begin(now clock.Time) {
	defer r.heart.opens(false)
	if r.of != nil {
		r.of.step()
	}
	r.srv.Begin(now)
}

// limit applies the limits of a player and returns them, but for its share of the host's budget.
func (r *room) limit(p *player) server.Limits {
	l := p.class
	if l.Budget == 0 {
		l.Budget = r.h.cfg.Budget
	}
	if l.Budget == 0 {
		l.Budget = server.DefaultBudget
	}
	if asked := int((uint64(p.wish.BudgetDown) + 7) / 8); asked > 0 {
		l.Budget = min(l.Budget, asked)
	}
	if asked := int(p.wish.SendRate); asked > 0 && (l.Send <= 0 || asked < l.Send) {
		l.Send = asked
	}
	own, _ := r.srv.SetLimits(p.id, l)
	if p.share != nil {
		p.share.most.Store(int64(own.Budget))
		p.now = p.share.cap.Load()
		l = own
		l.Budget = min(own.Budget, int(p.now))
		r.srv.SetLimits(p.id, l)
	}
	return own
}

// ask changes the limits of a player as it asked, and answers with what holds.
func (r *room) ask(p *player, visit int, wish session.Limits) {
	if r.players[p.id] != p || p.visit != visit {
		return
	}
	p.wish = wish
	own := r.limit(p)
	if b, err := limitsOf(own).Append(nil); err == nil {
		_ = p.peer.SendMessage(b) // where it cannot, the connection is about to end
	}
}

// limitsOf returns limits as messages have them.
func limitsOf(l server.Limits) session.Limits {
	return session.Limits{BudgetDown: uint32(l.Budget) * 8, SendRate: uint16(l.Send)}
}

// join admits a player, or returns a session.Refusal.
func (r *room) join(j *joining) error {
	if j.bot {
		if r.humans == 0 {
			return errNobody
		}
		return r.admit(j)
	}
	if p, kept := r.returning(j); p != nil {
		return r.resume(p, j, kept)
	}
	if j.only {
		return errNoSession
	}
	err := r.h.count(j.address, true)
	if err != nil {
		return err
	}
	if r.humans >= r.places() && !r.dropAbsent(j.address) && !r.makePlace(j.address) {
		err = refusal(session.RoomFull, "room %s has its %d players", r.name, r.humans)
	} else {
		err = r.admit(j)
	}
	if err != nil {
		r.h.uncount(j.address)
	}
	return err
}

// places is how many humans find room.
func (r *room) places() int {
	if r.of != nil {
		return r.h.cfg.Spectators
	}
	return r.h.cfg.Players
}

// admit brings a player or a bot into the world.
func (r *room) admit(j *joining) error {
	now := r.h.clock()
	j.name = r.ownName(j.name)
	id, welcome, err := r.srv.Connect(now, j.name)
	if err != nil {
		r.log.Warn("a player could not be connected", "error", err)
		return refusal(session.RoomFull, "%v", err)
	}
	p := &player{id: id, name: j.name, peer: j.peer, bot: j.bot, nonce: j.nonce, account: j.account, joined: now,
		address: j.address, counted: j.address, entered: r.srv.Tick(),
		profile: j.profile, in: new(transport.Queue)}
	p.log = r.logOf(p, j.where)
	r.players[id] = p
	r.order = append(r.order, p) // ids rise
	if p.profile != nil {
		r.srv.SetRecord(id, p.profile.rec)
	}
	if !j.bot {
		if r.humans++; r.humans == 1 {
			r.companies++
			r.company.Store(r.companies)
		}
		p.log.Info("player joined")
	}
	r.n.joined(p)
	if !p.bot {
		if r.h.cfg.LimitsOf != nil {
			p.class = r.h.cfg.LimitsOf(Visitor{Name: p.name, Account: p.account, Room: r.name})
		}
		if p.share = j.share; p.share != nil {
			r.h.total.belongs(p.share, p)
		}
		own := limitsOf(r.limit(p))
		welcome.BudgetDown, welcome.SendRate = own.BudgetDown, own.SendRate
		r.issue(p, &welcome)
	}
	r.heart.players(r)
	j.ready(p, welcome)
	if !p.bot {
		r.h.sayFarewell(p) // it may have been on its way in when the others heard of the end
	}
	return nil
}

// logOf returns the log of a player.
func (r *room) logOf(p *player, where []slog.Attr) *slog.Logger {
	who := []slog.Attr{slog.Int("player", int(p.id)), slog.String("name", p.name)}
	if p.account != 0 {
		who = append(who, slog.Uint64("account", p.account)) // what orders to kick and ban name
	}
	return slog.New(r.log.Handler().WithAttrs(append(who, where...)))
}

// takenOver is what a player reads whose place a newer connection takes.
const takenOver = "you joined again from elsewhere"

// sendAway tells a player why it must leave, and removes it.
func (r *room) sendAway(p *player, why session.Refusal) {
	if b, err := why.Append(nil); err == nil {
		_ = p.peer.SendMessage(b) // if it does not arrive, the reason of Close may
	}
	p.peer.Close(reason(why))
	r.remove(p, why.Text)
}

// reason returns the reason of Close for a refusal.
func reason(why session.Refusal) string {
	if why.Text == "" {
		return why.Code.String()
	}
	return why.Text
}

// free gives up what a player has of the host: its seat, and its place among those of its address.
func (r *room) free(p *player) {
	if !p.bot {
		r.h.rise(p)
	}
	r.h.uncount(p.counted)
	p.counted = netip.Addr{}
}

// remove takes a player out of the world.
func (r *room) remove(p *player, why string) {
	r.free(p)
	r.n.judged.judge(p, r.srv.Server)
	r.countPath(p, 0)
	r.srv.Disconnect(p.id)
	delete(r.players, p.id)
	r.order = slices.DeleteFunc(r.order, func(q *player) bool { return q == p })
	if p.profile != nil {
		r.last.departed = append(r.last.departed, p.profile)
	}
	p.in.Close()
	r.heart.players(r)
	r.n.left(p)
	if p.bot {
		return
	}
	now := r.h.clock()
	r.stayed = r.stayed || now.Sub(p.joined) >= Stay
	if r.humans--; r.humans == 0 {
		r.empty = now
		r.company.Store(0)
		r.dismiss()
	}
	p.log.Info("player left", "reason", why, "after", now.Sub(p.joined).Round(time.Millisecond))
}

// dismiss sends the bots away: they play beside people only.
func (r *room) dismiss() {
	for _, p := range slices.Clone(r.order) {
		if p.bot {
			r.sendAway(p, session.Refusal{Code: session.Removed, Text: errNobody.Error()})
		}
	}
}

// end ends the connection of a player as the world asks for.
func (r *room) end(e server.End) {
	p := r.players[e.Player]
	if p == nil {
		return
	}
	r.n.sentAway++
	if e.Refused {
		if e.Err != nil && r.h.cfg.Develop {
			e.Why = faultText(e.Err)
		}
		r.sendAway(p, session.Refusal{Code: session.Removed, Text: e.Why})
		return
	}
	p.peer.Close(e.Why) // without a refusal: its client may come back
	r.suspend(p, errors.New(e.Why))
}

// look takes the connections of players that have gone silent, removes those that did not come
// back, and publishes the counters.
func (r *room) look(now clock.Time) {
	for _, p := range r.order {
		r.countPath(p, now.Sub(max(r.looked, p.joined)))
	}
	r.looked = now
	r.silent = r.srv.Silent(now, r.silent[:0])
	for _, id := range r.silent {
		if p := r.players[id]; p != nil {
			r.n.silent.Add(1)
			// Without a refusal: a machine that slept would read it when it wakes, and would not
			// come back.
			p.peer.Close(errSilent.Error())
			r.suspend(p, errSilent)
		}
	}
	r.giveUp(now)
	r.faults.flush(now)
	r.publish()
}

// Shares of a world's numbers that are used up, see server.Server.Worn: from worn on it says so, at
// wornOut it ends.
const (
	worn    = 0.75
	wornOut = 0.98
)

// wear logs that the numbers of the room's world run short, months before they do, and reports when
// the room has to end: its players join again and find a new world.
func (r *room) wear(share float64) (why session.Refusal, over bool) {
	if share >= wornOut {
		return session.Refusal{Code: session.ShuttingDown, Text: "this world has grown too old and begins anew"}, true
	}
	if share >= worn && !r.warned {
		r.warned = true
		r.log.Error("this world runs short of numbers: it ends when nobody is in it, or by force",
			"used", share, "most", wornOut, "tick", r.srv.Tick())
	}
	return why, false
}

// call runs f in the loop between two ticks, and reports whether it ran: not if the room has ended.
func (r *room) call(f func()) bool {
	ran := make(chan struct{})
	select {
	case r.calls <- func() { defer close(ran); f() }:
		<-ran
		return true
	case <-r.done:
		return false
	}
}

// A faultLog logs faults of the rules: the first at once, then every faultEvery how many there
// were.
type faultLog struct {
	log    *slog.Logger
	last   clock.Time // of the last line; 0: none yet
	newest error
	n      int // faults since the last line
}

// faultEvery is the least time between two lines on faults of one room. Rules that panic do so at
// every tick.
const faultEvery = 5 * time.Second

func (f *faultLog) add(err error, now clock.Time) {
	f.newest = err
	f.n++
	if f.last == 0 {
		f.write(now)
	}
}

func (f *faultLog) flush(now clock.Time) {
	if f.n > 0 && now.Sub(f.last) >= faultEvery {
		f.write(now)
	}
}

func (f *faultLog) write(now clock.Time) {
	f.log.Error("the rules went wrong", "error", f.newest, "times", f.n)
	f.last, f.n, f.newest = max(now, 1), 0, nil
}
