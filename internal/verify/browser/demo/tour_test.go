package demo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"meanwhile/internal/verify/browser"
)

// A person plays through the demo: from the bot to the first key, each guided step, each half of
// the split view, and back to a good network. What the page says follows from what the engine
// measures. No line of the console is left over.
func TestTour(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the guided steps of the demo in a browser")
	}
	url := live(t)
	p := browser.New(t) // after the site, so that it is closed before it
	p.Open(url)
	p.WaitFor("globalThis.g?.me && document.getElementById('hint').innerText.includes('A bot plays') && " +
		inPanel + "?.querySelector('.presets button')")
	steps := func(now int, done ...bool) string {
		js := []string{
			fmt.Sprintf("[...document.querySelectorAll('#steps li')].findIndex(li => li.className === 'now') === %d", now),
		}
		for i, d := range done {
			js = append(js, fmt.Sprintf("document.querySelectorAll('#steps li')[%d].classList.contains('done') === %v", i, d))
		}
		return strings.Join(js, " && ")
	}
	p.WaitFor(steps(0, false, false, false))
	p.Press("KeyE")
	p.WaitFor("!g.autopilot")

	// The second step is not done before the first.
	p.Eval(fmt.Sprintf(control, "predict"), nil)
	p.WaitFor("g.me && !g.me.predicted")
	p.WaitFor(steps(0, false, false, false))
	p.Eval(fmt.Sprintf(control, "predict"), nil)
	p.Eval(fmt.Sprintf(preset, "Across an ocean"), nil)
	p.WaitFor("g.stats.rttMs > 120 && " + steps(1, true, false, false))
	p.WaitFor(`/^Packets need \d+ ms/.test(document.querySelector("#steps .last small").textContent)`)
	p.Eval(fmt.Sprintf(control, "predict"), nil)
	p.WaitFor("!g.me.predicted && g.stats.commandMs - g.stats.playoutMs > 120 && " + steps(2, true, true, false))
	p.WaitFor(
		`/^Now you, too, wait for the server: \d+ ms/.test(document.querySelector("#steps .last small").textContent)`,
	)
	p.Eval(fmt.Sprintf(control, "predict"), nil)
	p.WaitFor("g.me?.predicted")

	// A hit is judged, counted, and the last step. Shots of the bot are counted alone.
	p.Eval(`window.judged = reason => {
		const at = { x: g.me?.pos.x ?? 1, y: g.me?.pos.y ?? 1, z: 0 }
		g.on.receipt({ target: 0, seen: at, used: at, hit: reason === "exact", offMm: reason === "exact" ? 0 : 1310, reason })
	}
	g.autopilot = true
	judged("exact")
	g.autopilot = false`, nil)
	p.WaitFor(steps(2, true, true, false))
	p.Eval(`judged("exact")`, nil)
	p.WaitFor(steps(-1, true, true, true))
	var said string
	if p.Eval(`document.querySelector("#steps .last small").textContent`, &said); !strings.HasPrefix(
		said,
		"A hit: the server went back ",
	) ||
		!strings.Contains(said, " 0 cm from where you saw it") {
		t.Errorf("the last step says %q", said)
	}
	p.Eval(`judged("none stated")`, nil)
	p.WaitFor(
		`(([on, off]) => on >= 2 && off >= 1)(["on", "off"].map(s =>
			+document.getElementById("honoured" + s).textContent.split(" of ")[1]))`,
	)
	p.WaitFor(
		`/^A miss: without Rewind the server judged its own present, 131 cm/.test(
			document.querySelector("#steps .last small").textContent)`,
	)
	p.WaitFor(`localStorage.getItem("meanwhile.demo.steps") === '{"done":[true,true,true],"closed":false}'`)
	p.Screenshot("done")
	p.Click("#stepsclose")
	p.WaitFor("document.getElementById('steps').hidden")
	p.Click("#tour")
	p.WaitFor(steps(0, true, false, false) + " || " + steps(1, true, false, false)) // still on the same network

	// Beside the own half: the server, another player, and a player without the techniques.
	compare := func(mode string) {
		p.Eval(fmt.Sprintf(`{
			const list = document.getElementById("compare")
			list.value = %q
			list.dispatchEvent(new Event("change"))
		}`, mode), nil)
	}
	p.Eval(`window.frame = () => document.querySelector("#other iframe")?.contentWindow.g
		window.shows = canvas => {
			const small = new OffscreenCanvas(64, 64).getContext("2d", { willReadFrequently: true }), seen = new Set()
			small.drawImage(canvas, 0, 0, 64, 64)
			const d = small.getImageData(0, 0, 64, 64).data
			for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2])
			return seen.size > 20
		}
		0`, nil)
	compare("truth")
	p.WaitFor(
		`g.width < 500 && shows(document.getElementById("second")) &&
			document.getElementById("theirs").innerText.startsWith("The server, now.")`,
	)
	p.WaitFor(`/^Your screen: others \d+ ms late, you \d+ ms ahead/.test(document.getElementById("mine").innerText)`)
	p.Screenshot("truth")
	compare("opponent")
	p.WaitFor(`g.me && frame().me && frame().me.id !== g.me.id &&
		frame().world.player.some(q => q.id === g.me.id && !q.mine)`)
	p.WaitFor("frame().stats.rttMs < 120 && shows(frame().canvas)")
	compare("raw")
	p.WaitFor(`frame().settings.profile === "ocean" && frame().settings.predict === 0 &&
		frame().settings.interpolate === 0 && frame().stats.rttMs > 120 &&
		frame().me && !frame().me.predicted && shows(frame().canvas)`)
	p.Screenshot("raw")
	compare("")
	p.WaitFor(`!frame() && document.getElementById("other").hidden && g.width > 500`)

	// The network as it is comes back on a new connection, without a word about it, and soon: both
	// ends learn it from the start. How soon, in virtual time: app/internal/bridge
	// TestBadNetworkIsForgotten.
	p.Eval(`window.notices = []
	{
		const { notice } = g, show = notice.show
		notice.show = function (kind, text, ...rest) { notices.push(text); return show.call(this, kind, text, ...rest) }
	}
	window.lost = 0
	{
		const { call } = g
		g.call = function (name, ...args) { if (name === "lost") lost++; return call.call(g, name, ...args) }
	}
	0`, nil)
	p.Eval(fmt.Sprintf(preset, "As it is"), nil)
	p.WaitFor("lost === 1 && g.transport && g.stats.state === 1 && g.me")
	p.WaitFor("g.stats.rttMs < 120")
	var paths []float64
	var notices []string
	if p.Eval(`notices.filter(n => !/^Nothing/.test(n))`, &notices); len(
		notices,
	) > 0 { // a busy machine may be silent for long
		t.Errorf("the page says %q", notices)
	}

	// A slider that is dragged is another network, and another path, when it is let go.
	p.Eval(`window.drag = (type, ms) => {
		const slider = `+inPanel+`.querySelector("input[data-setting=delayMs]")
		slider.value = ms
		slider.dispatchEvent(new Event(type))
	}
	window.paths = []
	g.connection.change = () => { paths.push(g.settings.delayMs) }
	for (const ms of [20, 25, 30]) drag("input", ms)
	0`, nil)
	time.Sleep(400 * time.Millisecond) // longer than a step of the keys may take
	p.Eval(`drag("input", 35); drag("change", 35)`, nil)
	p.WaitFor("paths.length > 0")
	if p.Eval("paths", &paths); !slices.Equal(paths, []float64{35}) {
		t.Errorf("a slider was dragged to 35 ms: other paths at %v ms", paths)
	}
	for _, line := range p.Console() {
		t.Errorf("on the console: %s", line)
	}
}
