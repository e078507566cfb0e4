package demo_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"meanwhile/app/site"
	"meanwhile/demo"
	"meanwhile/examples/arena"
	"meanwhile/game"
	"meanwhile/host"
	"meanwhile/host/bolt"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/sites"
)

// The board shows who had the most frags before the server was started, and who gets more now. A
// page's player is the same one after the page was loaded again and after the server was started
// again, and a second tab plays as another one beside it. A page says that the server was started
// again, and shows who won a round.
func TestBoardOutlivesTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: what lasts, in a browser")
	}
	state := t.TempDir()
	store, err := bolt.Open(filepath.Join(state, "records.db"))
	if err != nil {
		t.Fatal(err)
	}
	var board arena.Board
	for i, name := range []string{"Mira", "Jonas", "Ada <b>", "Kim", "Lu"} {
		board.Rows[i] = arena.Row{Number: uint64(i + 7), Name: name, Frags: []int{412, 88, 3, 2, 1}[i], Best: 1}
	}
	record, err := json.Marshal(board)
	if err == nil {
		err = store.Save(t.Context(), map[string][]byte{"arena/room/lobby": record})
	}
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}

	d := arena.Game // ann kills every bot once a second while bob is there; three frags win while eve is
	referee := d.Referee
	d.Referee = func(w *game.World) {
		var ann, bob, eve game.ID
		for id, p := range arena.Players.All(w) {
			switch p.Name {
			case "ann":
				ann = id
			case "bob":
				bob = id
			case "eve":
				eve = id
			}
		}
		for _, r := range arena.Rounds.All(w) {
			if eve != 0 && ann != 0 && r.Phase == arena.Play && arena.Players.Get(w, ann).Score >= 3 {
				r.Ends = w.Tick()
			}
		}
		for id, p := range arena.Players.All(w) {
			if id != bob && id != ann && bob != 0 && ann != 0 && p.Alive && w.Tick()%arena.Rate == 0 {
				p.Health, p.By = 0, ann
			}
		}
		referee(w)
	}
	rules, program, front := sites.Rules(t, &d), sites.Program(t, "demo/client", "arena"), sites.Relay(t)
	serve := func() (stop func()) {
		_, stop = sites.ServeBehind(t, front, site.Config{
			Door: site.Door{State: state}, Pages: []fs.FS{demo.Files}, Host: host.Config{Rules: rules, Bots: 3},
			Handlers: map[string]http.Handler{"GET /arena/map.json": site.Static("application/json", arena.MapJSON())},
		}, program)
		return stop
	}
	stop, url := serve(), sites.URL(front)

	const rows = `[...document.querySelectorAll("#best li")].map(r => [...r.children].map(c => c.textContent).join(" "))`
	const frags = `(g.world.best.find(b => b.name === "ann")?.frags ?? 0)`
	ann := browser.New(t)
	ann.Open(url + "?name=ann&bot=0")
	ann.WaitFor("globalThis.g?.me && " + rows + `.length >= 5`)
	ann.Eval(rows+`.slice(0, 3).join("|") === "1 Mira 412|2 Jonas 88|3 Ada <b> 3" || crash`, nil)
	var key, other, again string
	ann.Eval(`localStorage.getItem("meanwhile.guest")`, &key)
	bob := ann.NewWindow()
	bob.Open(url + "?name=bob&bot=0")
	bob.WaitFor("globalThis.g?.me && g.me.name === 'bob'")
	bob.Eval(`sessionStorage.getItem("meanwhile.guest")`, &other)
	if len(key) != 32 || len(other) != 32 || key == other {
		t.Errorf("two tabs of one browser have the keys %q and %q", key, other)
	}
	bob.WaitFor(frags + " >= 4") // ann has passed Ada, and is in the first three
	ann.WaitFor("g.me && " + frags + " >= 4")
	ann.Screenshot("board")
	before := 0
	ann.Eval("Math.floor("+frags+")", &before)

	ann.Open(url + "?name=ann&bot=0")
	ann.WaitFor("globalThis.g?.me && " + frags + " > 0")
	ann.Eval(`localStorage.getItem("meanwhile.guest")`, &again)
	if key != again {
		t.Errorf("loaded again the page has the key %q, had %q", again, key)
	}
	bob.Eval(`{
		const { show } = g.notice
		window.said = []
		g.notice.show = (...words) => { said.push(words[1]); show.apply(g.notice, words) }
	}`, nil)
	stop()
	serve()
	bob.WaitFor(`said.includes("The server has restarted.")`)
	bob.WaitFor("g.stats.state !== 0 && g.world.best.length >= 6 && " + frags + " >= " + jsonOf(before))
	bob.WaitFor("g.world.best.filter(b => b.name === 'ann').length === 1 && " + frags + " > " + jsonOf(before+4))
	ann.Errors() // of the time between two servers
	bob.Errors()

	eve := ann.NewWindow()
	eve.Open(url + "?name=eve&bot=0")
	const result = `[...document.querySelectorAll("#result:not([hidden]) tr")].map(r => r.textContent).join("|")`
	for _, size := range []struct {
		name          string
		width, height int
	}{{"laptop", 1280, 800}, {"large", 1920, 1080}, {"phone", 390, 844}} {
		ann.Resize(size.width, size.height)
		ann.WaitFor(result + `.includes("ann")`)
		ann.Screenshot("result " + size.name)
	}
	var shown struct{ Winner, Next, Best string }
	ann.WaitFor(result + `.includes("ann") &&
		(window.shown = { Winner: winner.textContent, Next: upnext.textContent, Best: tallies.rows[0].className })`)
	ann.Eval("shown", &shown)
	if shown.Winner != "You win this round" || !strings.HasPrefix(shown.Next, "Next round on ") || shown.Best != "mine" {
		t.Errorf("the winner's page says %+v", shown)
	}
}

func jsonOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
