package site

import (
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"meanwhile/host"
	"meanwhile/host/metrics"
	"meanwhile/session/token"
	"meanwhile/transport"
)

// The limits in docs/security.md are those of the code, and its counters are in /metrics.
func TestSecurityPage(t *testing.T) {
	limits := map[string]any{
		"host.DefaultRooms": host.DefaultRooms, "host.DefaultRoomsPerAddress": host.DefaultRoomsPerAddress,
		"host.RoomRefill": host.RoomRefill, "host.Stay": host.Stay, "host.DefaultPlayers": host.DefaultPlayers,
		"host.DefaultPlayersPerAddress": host.DefaultPlayersPerAddress, "host.IdleTime": host.IdleTime,
		"host.MaxBans": host.MaxBans, "host.MaxSpectators": host.MaxSpectators,
		"host.MinWatchLate": host.MinWatchLate, "host.CodeTries": host.CodeTries, "host.CodeRefill": host.CodeRefill,
		"host.LogLines": host.LogLines, "host.LogBurst": host.LogBurst, "host.LogRefill": host.LogRefill,
		"transport.MaxVisitors": transport.MaxVisitors, "transport.MaxVisitorsPerAddress": transport.MaxVisitorsPerAddress,
		"transport.EntryRefill": transport.EntryRefill, "transport.CrowdedHelloTimeout": transport.CrowdedHelloTimeout,
		"transport.HelloTimeout": transport.HelloTimeout, "transport.RetryVisitors": transport.RetryVisitors,
		"transport.MaxExpected": transport.MaxExpected, "transport.ExpectedPerAddress": transport.ExpectedPerAddress,
		"transport.ClientDatagrams": transport.ClientDatagrams, "transport.ClientBytes": transport.ClientBytes,
		"transport.ClientMessages": transport.ClientMessages, "transport.ClientMessageBytes": transport.ClientMessageBytes,
		"transport.ClientPackets": transport.ClientPackets, "transport.ClientStreamBytes": transport.ClientStreamBytes,
		"transport.Allowance": transport.Allowance, "transport.MaxMessage": transport.MaxMessage,
		"transport.MaxEarlyMessage": transport.MaxEarlyMessage, "token.DefaultLifetime": token.DefaultLifetime,
		"token.MaxLifetime": token.MaxLifetime, "site.MaxConnections": MaxConnections,
		"site.MaxConnectionsPerAddress": MaxConnectionsPerAddress, "site.StallTimeout": StallTimeout,
		"site.MaxNewConnections": MaxNewConnections,
		"site.loginTries":        loginTries, "site.loginRefill": loginRefill, "site.loginsAtOnce": loginsAtOnce,
		"site.maxBearer": maxBearer, "site.NewConnectionsRefill": NewConnectionsRefill,
	}
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Config{Rules: rules(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s := &Site{host: h, gate: transport.NewGate(0, 0), login: &login{}}
	metrics.Handler(s.sources()).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	row := regexp.MustCompile("(?m)^\\| `([a-z]+\\.[A-Za-z]+)` \\| ([^ ]+) \\| `([a-z_]+)` \\|$")
	found := row.FindAllStringSubmatch(string(page), -1)
	for _, f := range found {
		if want, ok := limits[f[1]]; !ok || fmt.Sprint(want) != f[2] {
			t.Errorf("the page says that %s is %s, the code %v", f[1], f[2], want)
		}
		if !strings.Contains(w.Body.String(), "\nmeanwhile_"+f[3]) {
			t.Errorf("%s: no counter %s", f[1], f[3])
		}
		delete(limits, f[1])
	}
	for name := range limits {
		t.Errorf("the page does not have %s", name)
	}
}
