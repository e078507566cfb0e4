package demo_test

import (
	"testing"
	"time"

	"meanwhile/internal/verify/browser"
)

// What one player types another reads, under the name that the server knows, and what is no text of
// a page stays text. A vote is a banner for all; the arena does what it decides.
func TestChatAndVote(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: chat and votes in a browser")
	}
	url := live(t)
	ann := browser.New(t)
	ann.Open(url + "/?bot=0&name=ann&delay=60&loss=5")
	ann.WaitFor(ready)
	bob := ann.NewWindow()
	bob.Open(url + "/?bot=0&name=bob")
	bob.WaitFor(ready)

	said := func(p *browser.Page) string {
		return `[...document.querySelectorAll("#log p")].map(p => p.innerText).join(" | ")`
	}
	say := func(p *browser.Page, text string) {
		t.Helper()
		p.Press("Enter")
		p.WaitFor("document.activeElement?.id === 'line'")
		p.Eval("document.getElementById('line').value = "+text+", 0", nil)
		p.Press("Enter")
		p.WaitFor("document.getElementById('talk').hidden && document.activeElement === g.canvas")
	}
	say(ann, `"hello <b>bob</b> ✓ żółw"`)
	bob.WaitFor(said(bob) + ` === "ann hello <b>bob</b> ✓ żółw"`)
	say(bob, `"hi"`)
	for _, p := range []*browser.Page{ann, bob} {
		p.WaitFor(said(p) + ` === "ann hello <b>bob</b> ✓ żółw | bob hi"`)
	}
	ann.Eval("document.querySelectorAll('#log .mine').length === 1 && !g.autopilot || crash", nil)

	// Esc closes the line, whose keys move nobody.
	ann.Press("Enter")
	ann.Press("KeyW")
	ann.Eval("g.keys.has('KeyW') && crash", nil)
	ann.Press("Escape")
	ann.WaitFor("document.getElementById('talk').hidden")

	// What is no field is not sent, and named.
	var refusedField string
	ann.Eval(`g.send("chat", { txt: "hi" })`, &refusedField)
	if refusedField != `There is no field "txt" in the message chat; did you mean "text"?` {
		t.Errorf("a line of another field: %q", refusedField)
	}

	// The rate is the page's to keep: what is too much stays in the line.
	ann.Eval(`window.sent = Array.from({ length: 10 }, (_, i) => g.send("chat", { text: "flood " + i })), 0`, nil)
	ann.WaitFor(`sent[0] === "" && sent[9].includes("too often")`)
	bob.WaitFor(said(bob) + `.includes("flood 1")`)

	// A vote.
	ann.Press("Enter")
	ann.WaitFor("!document.getElementById('talk').hidden")
	ann.Screenshot("chat")
	ann.Click("#talk [data-vote=longer]")
	for _, p := range []*browser.Page{ann, bob} {
		p.WaitFor(`!document.getElementById("poll").hidden &&
			document.getElementById("poll").innerText.includes("play a minute longer")`)
	}
	ann.WaitFor("document.getElementById('yes').disabled")
	bob.Screenshot("poll")
	bob.Press("KeyY")
	ann.WaitFor("document.getElementById('pollyes').textContent === '2'")
	var refused string
	bob.Eval(`g.request("vote", { what: "longer", yes: true }).then(() => "", e => e.message)`, &refused)
	if refused != "you have voted" {
		t.Errorf("a second vote was answered %q", refused)
	}
	ann.WaitLonger(said(ann)+`.includes("The round is a minute longer")`, 5*time.Minute) // 20 s of the server's time
	bob.WaitFor("document.getElementById('poll').hidden")

	// On a telephone, too, the line lies on the stage.
	bob.Resize(390, 844)
	bob.WaitFor("g.width === 390")
	bob.Eval(`document.getElementById("chatbutton").click(), 0`, nil)
	bob.WaitFor(`(() => {
		const box = id => document.getElementById(id).getBoundingClientRect(), a = box("talk"), b = box("stage")
		return a.width > 300 && a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom
	})()`)
	bob.Screenshot("phone-chat")
}
