package demo_test

import (
	"io/fs"
	"net/http"
	"slices"
	"testing"

	"meanwhile/app/site"
	"meanwhile/demo"
	"meanwhile/examples/arena"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/host"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/sites"
)

// A player who was killed sees how, from the frames that the page drew before: the killer is in the
// middle then, and a label names it. There is no killcam after an own rocket and none while a bot plays,
// a press skips it, and it ends when the avatar comes back.
func TestKillcam(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the killcam in a browser")
	}
	d := arena.Game // ann and a bot stand still; jumping ann dies by herself, crouching by the bot
	referee := d.Referee
	d.Referee = func(w *game.World) {
		referee(w)
		var ann, bot game.ID
		for id, p := range arena.Players.All(w) {
			if p.Name == "ann" {
				ann, p.Pos.X, p.Pos.Y = id, 19, 20
			} else {
				bot, p.Pos, p.Vel = id, geom.Vec3{X: 30, Y: 20}, geom.Vec3{}
				p.Ammo, p.Spare, p.Rockets, p.Crate = 0, 0, 0, 0
			}
		}
		if ann == 0 || bot == 0 {
			return
		}
		if p := arena.Players.Get(w, ann); p.Alive && p.Pos.Z > 0.1 {
			p.Health, p.By = 0, ann
		} else if p.Alive && p.Crouch {
			p.Health, p.By = 0, bot
		}
	}
	s, _ := sites.Serve(t, site.Config{
		Pages: []fs.FS{demo.Files}, Host: host.Config{Rules: sites.Rules(t, &d), Bots: 1},
		Handlers: map[string]http.Handler{"GET /arena/map.json": site.Static("application/json", arena.MapJSON())},
	}, sites.Program(t, "demo/client", "arena"))

	p := browser.New(t)
	p.Open(s.URL() + "/?name=ann&bot=0")
	p.WaitFor(ready + " && g.world.player.length === 2 && g.world.player.every(q => q.name)")
	// deaths has an entry for each death: how far from the middle of the stage the killer's name was drawn
	// with the label and without it, what the label said, for how long the avatar was dead, whether the
	// label went meanwhile, and whether it was gone when the avatar was back.
	p.Eval(`{
		const { draw } = g, { drawImage } = g.ctx, killer = g.world.player.find(q => !q.mine).name
		const box = document.getElementById("killcam")
		let off = -1, dead = false, since = 0
		window.deaths = []
		window.begun = g.now
		window.skips = false // whether a key is pressed as soon as the label is there
		window.moves = false // whether the round goes to another map then
		window.moved = false
		window.stayed = 0 // frames with the label on that map
		g.ctx.drawImage = function (image, x, y, w, h) { // names are pictures
			if (image.title === killer) off = Math.hypot(x + w / 2 - g.width / 2, y + h - g.height / 2)
			drawImage.call(this, image, x, y, w, h)
		}
		g.draw = w => {
			off = -1
			draw(moved ? { ...w, round: w.round.map(r => ({ ...r, map: 1 })) } : w)
			if (moved && !box.hidden) stayed++
			if (!g.me.alive && !dead) {
				deaths.push({
					killer, plain: [], past: [], label: "", ms: 0, skipped: false, back: false, gone: false,
				})
				for (const code of ["KeyC", "Space"]) g.keys.release(code)
				since = g.now
			}
			dead = !g.me.alive
			const death = deaths.at(-1)
			if (!death) return
			if (!dead && !death.back) Object.assign(death, { back: true, gone: box.hidden })
			if (!dead) return
			death.ms = g.now - since
			if (off >= 0) (box.hidden ? death.plain : death.past).push(off)
			if (box.hidden) death.skipped = death.label !== ""
			else if (moves && death.label) moved = true
			else if (skips && death.label) dispatchEvent(new KeyboardEvent("keydown", { code: "KeyM" }))
			else death.label = document.getElementById("got").textContent
		}
		0
	}`, nil)
	type death struct {
		Killer, Label string
		Plain, Past   []float64
		Skipped, Gone bool
	}
	die := func(code, until string, meanwhile func()) (d death) {
		t.Helper()
		p.WaitFor("g.me.alive")
		p.Eval(`g.keys.press("`+code+`"), window.dies = deaths.length, 0`, nil)
		p.WaitFor("deaths.length > dies")
		p.WaitFor("deaths[dies].past.length > 5 || deaths[dies].back || deaths[dies]." + until)
		meanwhile()
		p.WaitFor("deaths[dies].back || deaths[dies]." + until)
		p.Eval("deaths[dies]", &d)
		return d
	}

	p.WaitFor("g.now - begun > 800") // a killer who was drawn for less shows nothing
	// A page that stands still for long shows nothing, so on a busy machine it may take several deaths.
	var shown, skipped death
	for range 10 {
		if shown.Label == "" {
			shown = die("KeyC", "back", func() { p.Screenshot("killcam") })
			p.Eval("skips = deaths[dies].label !== '', 0", nil)
		} else if skipped = die("KeyC", "skipped", func() {}); skipped.Skipped {
			break
		}
	}
	if want := "How " + shown.Killer + " got you, 2 s ago"; shown.Label != want || !shown.Gone || !skipped.Skipped {
		t.Errorf("the label says %q, want %q; gone when the avatar is back: %t; skipped by a press: %t",
			shown.Label, want, shown.Gone, skipped.Skipped)
	}
	if len(shown.Plain) == 0 || slices.Min(shown.Plain) < 200 {
		t.Errorf("without the killcam the killer is %.0f pixels from the middle, want 200 and more", shown.Plain)
	}
	if len(shown.Past) == 0 || slices.Max(shown.Past) > 140 {
		t.Errorf("with it the killer is %.0f pixels from the middle, want at most 140", shown.Past)
	}
	// What was drawn on another map is forgotten.
	p.Eval("skips = false, moves = true, 0", nil)
	var moved bool
	for range 10 {
		if die("KeyC", "back", func() {}); !moved {
			p.Eval("moved", &moved)
		}
		if moved {
			break
		}
	}
	stayed := 0
	if p.Eval("stayed", &stayed); !moved || stayed > 0 {
		t.Errorf("on another map: %t; the label stayed for %d frames", moved, stayed)
	}
	p.Eval("moved = moves = false, 0", nil)

	if d := die("Space", "ms > 1000", func() {}); d.Label != "" || len(d.Past) > 0 {
		t.Errorf("after an own rocket: %+v", d)
	}
}
