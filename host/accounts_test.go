package host

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/session/token"
)

// The newest connection of an account wins, whatever rooms the two are in.
func TestOneRoomPerAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		s := newStage(t, Config{Login: login})
		defer s.end()
		first := s.greet(session.Hello{Room: "one", Token: issue(t, issuer, token.Grant{Player: 7})})
		other := s.greet(session.Hello{Room: "one", Token: issue(t, issuer, token.Grant{Player: 8})})
		second := s.greet(session.Hello{Room: "two", Token: issue(t, issuer, token.Grant{Player: 7})})
		m, err := first.ReceiveMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r, err := session.DecodeRefusal(m); err != nil || r.Code != session.TakenOver {
			t.Errorf("the first connection got %+v, %v", r, err)
		}
		<-first.Done()
		time.Sleep(2 * time.Second)
		if n := s.Stats().Players; n != 2 || other.Err() != nil || second.Err() != nil {
			t.Errorf("%d players, %v, %v", n, other.Err(), second.Err())
		}
		end(other)
		end(second)
		time.Sleep(time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.seats) != 0 {
			t.Errorf("%d seats are still counted", len(s.seats))
		}
	})
}

// A token is used only once its player is in: whoever finds the room full may come again with it.
func TestTokenOfARefusedPlayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		s := newStage(t, Config{Login: login, Players: 1})
		defer s.end()
		first := s.greet(session.Hello{Token: issue(t, issuer, token.Grant{})})
		tok := issue(t, issuer, token.Grant{})
		for range 2 {
			_, err := s.tryHello("203.0.113.7", session.Hello{Token: tok})
			if e := refusedFor(err, session.RoomFull, ""); e != nil {
				t.Error(e)
			}
		}
		end(first)
		time.Sleep(time.Second)
		c, err := s.tryHello("203.0.113.7", session.Hello{Token: tok})
		if err != nil {
			t.Fatal(err)
		}
		end(c)
		_, err = s.tryHello("203.0.113.7", session.Hello{Token: tok})
		if e := refusedFor(err, session.BadToken, "used before"); e != nil {
			t.Error(e)
		}
	})
}

// A token that was used stays so when the server is started anew, even if its file was cut while it
// was written; an expired one is forgotten.
func TestUsedTokensLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	synctest.Test(t, func(t *testing.T) {
		tok, long := []byte(nil), []byte(nil)
		for run := range 3 {
			issuer, login := newLogin(t)
			if err := login.Keep(path); err != nil {
				t.Fatal(err)
			}
			s := newStage(t, Config{Login: login})
			if run == 0 {
				tok = issue(t, issuer, token.Grant{})
				var err error
				if long, err = issuer.Issue(token.Grant{}, time.Now(), token.MaxLifetime); err != nil {
					t.Fatal(err)
				}
				for _, b := range [][]byte{tok, long} {
					end(s.greet(session.Hello{Token: b}))
				}
			} else {
				_, err := s.tryHello("203.0.113.7", session.Hello{Token: long})
				if e := refusedFor(err, session.BadToken, "used before"); e != nil {
					t.Errorf("run %d: %v", run, e)
				}
			}
			s.end()
			login.file.Close()
			if run == 0 {
				b, err := os.ReadFile(path)
				if err != nil || len(b) != 2*spentSize {
					t.Fatalf("%d bytes, %v; want two tokens", len(b), err)
				}
				if err := os.WriteFile(path, append(b, 1, 2, 3), 0o600); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Minute)
			}
		}
		if b, err := os.ReadFile(path); err != nil || len(b) != spentSize {
			t.Errorf("%d bytes, %v; want one token", len(b), err)
		}
	})
}

// A revocation lasts beyond the server, as long as tokens live, beside tokens that were used.
func TestRevocationsLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	synctest.Test(t, func(t *testing.T) {
		var used, void []byte
		for run := range 4 {
			issuer, login := newLogin(t)
			if err := login.Keep(path); err != nil {
				t.Fatal(err)
			}
			s := newStage(t, Config{Login: login})
			if run == 0 {
				for player, tok := range map[uint64]*[]byte{7: &used, 8: &void} {
					var err error
					if *tok, err = issuer.Issue(token.Grant{Player: player}, time.Now(), token.MaxLifetime); err != nil {
						t.Fatal(err)
					}
				}
				end(s.greet(session.Hello{Token: used}))
				if err := login.Revoke(8); err != nil {
					t.Fatal(err)
				}
			}
			for tok, want := range map[*[]byte]string{&used: "used before", &void: "withdrawn"} {
				if run == 3 {
					want = "expired"
				}
				_, err := s.tryHello("203.0.113.7", session.Hello{Token: *tok})
				if e := refusedFor(err, session.BadToken, want); e != nil {
					t.Errorf("run %d: %v", run, e)
				}
			}
			s.end()
			login.file.Close()
			if run == 2 {
				time.Sleep(2 * token.MaxLifetime)
			}
		}
		if b, err := os.ReadFile(path); err != nil || len(b) != 0 {
			t.Errorf("%d bytes, %v; want nothing that is still needed", len(b), err)
		}
	})
}

// A revoked account's tokens are void, those issued later are not, and neither are those of guests.
func TestRevoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		s := newStage(t, Config{Login: login})
		defer s.end()
		old, guest := issue(t, issuer, token.Grant{Player: 7}), issue(t, issuer, token.Grant{})
		for _, account := range []uint64{7, 0} {
			if err := login.Revoke(account); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.tryHello("203.0.113.7", session.Hello{Token: old})
		if e := refusedFor(err, session.BadToken, "withdrawn"); e != nil {
			t.Error(e)
		}
		end(s.greet(session.Hello{Token: guest}))
		time.Sleep(2 * time.Second)
		fresh, err := issuer.Issue(token.Grant{Player: 7}, time.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		end(s.greet(session.Hello{Token: fresh}))
	})
}

// A kicked player may come again; a banned one may not, by account or by address, until the ban
// ends, also when the server is started anew.
func TestKickAndBan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bans")
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		s := newStage(t, Config{Login: login})
		if err := s.KeepBans(path); err != nil {
			t.Fatal(err)
		}
		enter := func(address string, account uint64) error {
			tok, err := issuer.Issue(token.Grant{Player: account}, time.Now(), 0)
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.tryHello(address, session.Hello{Token: tok})
			if err != nil {
				return err
			}
			t.Cleanup(func() { c.Close("") })
			return nil
		}
		players := func(want int) {
			t.Helper()
			time.Sleep(2 * time.Second)
			if n := s.Stats().Players; n != want {
				t.Errorf("%d players, want %d", n, want)
			}
		}
		for i, address := range []string{"203.0.113.7", "203.0.113.8", "198.51.100.1"} {
			if err := enter(address, uint64(1+i)); err != nil {
				t.Fatal(err)
			}
		}
		players(3)
		if n := s.Kick(Who{Account: 1}, "enough"); n != 1 {
			t.Errorf("%d were kicked", n)
		}
		players(2)
		if err := enter("203.0.113.7", 1); err != nil {
			t.Errorf("after a kick: %v", err)
		}
		players(3)
		if err := s.Ban(Who{From: netip.MustParsePrefix("203.0.113.0/24")}, time.Hour, "cheating"); err != nil {
			t.Fatal(err)
		}
		if err := s.Ban(Who{Account: 3}, 2*time.Hour, ""); err != nil {
			t.Fatal(err)
		}
		players(0)
		s.end()
		issuer, login = newLogin(t)
		s = newStage(t, Config{Login: login})
		defer func() { s.end() }()
		if err := s.KeepBans(path); err != nil {
			t.Fatal(err)
		}
		if e := refusedFor(enter("203.0.113.99", 9), session.Removed, "cheating"); e != nil {
			t.Error(e)
		}
		if e := refusedFor(enter("192.0.2.1", 3), session.Removed, "until 2000-01-01 02:"); e != nil {
			t.Error(e)
		}
		time.Sleep(time.Hour + time.Minute)
		if err := enter("203.0.113.99", 9); err != nil {
			t.Errorf("after the ban: %v", err)
		}
		if err := s.Ban(Who{Account: 3}, 0, ""); err != nil {
			t.Fatal(err)
		}
		if err := enter("192.0.2.1", 3); err != nil {
			t.Errorf("after the ban was lifted: %v", err)
		}
		synctest.Wait() // the log is written by a goroutine of the host
		for _, line := range []string{"msg=\"ban lifted\" account=3 ", " account=3 transport="} {
			if !strings.Contains(s.log.String(), line) {
				t.Errorf("the log has no %s", line)
			}
		}
		if err := s.Ban(Who{}, time.Hour, ""); err == nil {
			t.Error("nobody was banned")
		}
	})
}

// One address of IPv6 stands for the /64 that whoever has it can draw others from, and a mapped one
// for its address of IPv4. The same words lift the ban.
func TestBansOfIPv6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		for ban, addresses := range map[string][2]string{
			"2001:db8:1:2:3:4:5:6/128": {"[2001:db8:1:2:3:4:5:6]", "[2001:db8:1:2:ffff::1]"},
			"2001:db8:a::/48":          {"[2001:db8:a::1]", "[2001:db8:a:9::1]"},
			"::ffff:203.0.113.0/120":   {"203.0.113.7", "[::ffff:203.0.113.8]"},
		} {
			who := Who{From: netip.MustParsePrefix(ban)}
			if err := s.Ban(who, time.Hour, "cheating"); err != nil {
				t.Fatal(err)
			}
			for _, a := range addresses {
				_, err := s.tryHello(a, session.Hello{})
				if e := refusedFor(err, session.Removed, "cheating"); e != nil {
					t.Errorf("%s is banned, and %s: %v", ban, a, e)
				}
			}
			if err := s.Ban(who, 0, ""); err != nil {
				t.Fatal(err)
			}
			c, err := s.tryHello(addresses[0], session.Hello{})
			if err != nil {
				t.Fatalf("the ban of %s was lifted: %v", ban, err)
			}
			if n := s.Kick(who, "enough"); n != 1 {
				t.Errorf("%d of %s were kicked", n, ban)
			}
			<-c.Done()
		}
	})
}

// Bans are bounded, and those that are over make place. One that is replaced or lifted takes no
// place either, and a ban without a reason names its end alone.
func TestBansAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bans
		add := func(account uint64, length time.Duration) error {
			return b.add(ban{Who: Who{Account: account}, Until: time.Now().Add(length)})
		}
		for i := range uint64(MaxBans) {
			length := time.Duration(1+i%2) * time.Hour
			b.list = append(b.list, ban{Who: Who{Account: 1 + i}, Until: time.Now().Add(length)})
		}
		if add(MaxBans+1, time.Hour) == nil {
			t.Error("a ban too many")
		}
		if err := add(1, time.Hour); err != nil {
			t.Errorf("a ban that replaces one: %v", err)
		}
		if err := b.check(2, netip.Addr{}); refusedFor(err, session.Removed, "until ") != nil ||
			strings.HasSuffix(err.Error(), ": ") {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Hour + time.Second)
		if err := add(MaxBans+1, time.Hour); err != nil || len(b.list) != MaxBans/2+1 {
			t.Errorf("half of the bans are over: %v, %d of them", err, len(b.list))
		}
		if err := b.check(1, netip.Addr{}); err != nil {
			t.Errorf("a ban that is over: %v", err)
		}
	})
}

// A file of bans may have been written by hand: addresses of IPv6 stand for their /64 there too.
func TestBansByHand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bans.json")
	text := `[{"from":"2001:db8:1:2:3:4:5:6/128","until":"2100-01-01T00:00:00Z"}]`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := New(Config{Rules: rules(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.KeepBans(path); err != nil {
		t.Fatal(err)
	}
	if h.bans.check(0, netip.MustParseAddr("2001:db8:1:2::")) == nil {
		t.Error("the /64 of a ban may play")
	}
	if h.KeepBans(t.TempDir()) == nil {
		t.Error("a folder was read as bans")
	}
}

// A token whose player is banned is not used up by trying, however often.
func TestTokenOfTheBanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		s := newStage(t, Config{Login: login})
		defer s.end()
		tok := issue(t, issuer, token.Grant{Player: 7})
		if err := s.Ban(Who{Account: 7}, time.Minute, ""); err != nil {
			t.Fatal(err)
		}
		for i := range byte(maxEntering + 1) {
			_, err := s.tryHello("203.0.113.7", session.Hello{Token: tok, Nonce: [session.KeySize]byte{1 + i}})
			if e := refusedFor(err, session.Removed, " UTC"); e != nil {
				t.Fatal(e)
			}
		}
		if err := s.Ban(Who{Account: 7}, 0, ""); err != nil {
			t.Fatal(err)
		}
		c, err := s.tryHello("203.0.113.7", session.Hello{Token: tok, Nonce: [session.KeySize]byte{9}})
		if err != nil {
			t.Fatal(err)
		}
		end(c)
	})
}

// Who is banned while on the way in does not stay.
func TestBanOnTheWayIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *stage
		s = newStage(t, Config{LimitsOf: func(Visitor) server.Limits { // a player has been let in, and has no seat yet
			if err := s.Ban(Who{From: netip.MustParsePrefix("203.0.113.7/32")}, time.Hour, "cheating"); err != nil {
				t.Error(err)
			}
			return server.Limits{}
		}})
		defer s.end()
		c, err := s.tryHello("203.0.113.7", session.Hello{})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := c.ReceiveMessage(context.Background()); err != nil {
			t.Error(err)
		} else if r, err := session.DecodeRefusal(m); err != nil || r.Code != session.Removed {
			t.Errorf("got %+v, %v", r, err)
		}
		<-c.Done()
	})
}

// A private room opens for whoever knows the code that its first player chose. Guesses are bounded.
func TestPrivateRooms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		for _, h := range []session.Hello{{Room: "ours", Code: "7f212k"}, {Room: "ours", Code: "7f212k"},
			{Room: "all"}, {Code: "any"}, {}} {
			defer end(s.greet(h))
		}
		for _, c := range []struct {
			hello session.Hello
			code  session.Code
			want  string
		}{{session.Hello{Room: "ours"}, session.NoCode, "is private"},
			{session.Hello{Room: "ours", Code: "7f212K"}, session.NoCode, "this is not the code"},
			{session.Hello{Room: "all", Code: "x"}, session.NoRoom, "without a code"}} {
			_, err := s.tryHello("203.0.113.7", c.hello)
			if e := refusedFor(err, c.code, c.want); e != nil {
				t.Error(e)
			}
		}
		busy := 0
		for range 2 * CodeTries {
			_, err := s.tryHello("203.0.113.7", session.Hello{Room: "ours", Code: "guess"})
			var r session.Refusal
			if errors.As(err, &r) && r.Code == session.Busy {
				busy++
			}
		}
		if busy != CodeTries+1 {
			t.Errorf("%d of %d guesses were refused unlooked at, want %d", busy, 2*CodeTries, CodeTries+1)
		}
	})
}

// A fullDisk takes some bytes of a write, and then no more.
type fullDisk struct {
	*os.File
	left int // bytes that there is room for; below 0: as many as come
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.left < 0 || d.left >= len(b) {
		return d.File.Write(b)
	}
	n, err := d.File.Write(b[:d.left])
	if err == nil {
		err = errors.New("no space left on device")
	}
	return n, err
}

// A disk that is full in the middle of an entry makes no other one unreadable.
func TestTornToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	_, login := newLogin(t)
	if err := login.Keep(path); err != nil {
		t.Fatal(err)
	}
	disk := &fullDisk{login.file.(*os.File), -1}
	login.file = disk
	for i, left := range []int{-1, 7, 0, spentSize - 1, -1} {
		disk.left = left
		if err := login.Revoke(uint64(i + 1)); (err != nil) != (left >= 0) {
			t.Errorf("with room for %d bytes: %v", left, err)
		}
	}
	disk.Close()
	_, again := newLogin(t)
	if err := again.Keep(path); err != nil {
		t.Fatal(err)
	}
	defer again.file.Close()
	if _, first := again.revoked[1]; len(again.revoked) != 2 || !first || again.revoked[5].IsZero() {
		t.Errorf("kept are %v, want accounts 1 and 5", again.revoked)
	}
}
