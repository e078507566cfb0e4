package browser

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// withBrowser sends an action to the browser instead of the page.
func withBrowser(ctx context.Context, c *chromedp.Context) context.Context {
	return cdp.WithExecutor(ctx, c.Browser)
}

// modifiers are the keys that change the meaning of others, by the start of their code.
var modifiers = []struct {
	code string
	bit  input.Modifier
}{
	{"Shift", input.ModifierShift}, {"Control", input.ModifierCtrl},
	{"Alt", input.ModifierAlt}, {"Meta", input.ModifierMeta},
}

// lookup finds a key by its KeyboardEvent.code, with or without Shift.
func lookup(code string, shift bool) (kb.Key, bool) {
	for _, m := range modifiers { // the driver's table knows them without a side
		if name, side := strings.CutSuffix(code, "Left"); side && name == m.code {
			windows := map[string]int64{"Shift": 16, "Control": 17, "Alt": 18, "Meta": 91}[name]
			return kb.Key{Code: code, Key: name, Native: windows, Windows: windows}, true
		}
	}
	var found []kb.Key
	for _, k := range kb.Keys {
		if k.Code == code {
			found = append(found, *k)
		}
	}
	if len(found) == 0 {
		return kb.Key{}, false
	}
	return slices.MinFunc(found, func(a, b kb.Key) int {
		wrong := func(k kb.Key) int {
			if k.Shift != shift {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(wrong(a), wrong(b)), strings.Compare(a.Text, b.Text))
	}), true
}

// KeyDown presses a key and holds it. The code is a KeyboardEvent.code: KeyW, Digit1, Space,
// ArrowUp, ShiftLeft.
func (p *Page) KeyDown(code string) {
	p.t.Helper()
	p.key(input.KeyDown, code)
}

// KeyUp lets go of a key.
func (p *Page) KeyUp(code string) {
	p.t.Helper()
	p.key(input.KeyUp, code)
}

// Press presses a key and lets go of it at once.
func (p *Page) Press(code string) {
	p.t.Helper()
	p.KeyDown(code)
	p.KeyUp(code)
}

func (p *Page) key(kind input.KeyType, code string) {
	p.t.Helper()
	k, ok := lookup(code, p.held&int64(input.ModifierShift) != 0)
	if !ok {
		p.t.Fatalf("browser: no key has the code %q", code)
	}
	for _, m := range modifiers {
		if strings.HasPrefix(code, m.code) {
			p.held &^= int64(m.bit)
			if kind == input.KeyDown {
				p.held |= int64(m.bit)
			}
		}
	}
	ev := input.DispatchKeyEvent(kind).WithCode(k.Code).WithKey(k.Key).WithModifiers(input.Modifier(p.held)).
		WithWindowsVirtualKeyCode(k.Windows).WithNativeVirtualKeyCode(k.Native)
	if kind == input.KeyDown && k.Print {
		ev = ev.WithText(k.Text).WithUnmodifiedText(k.Unmodified)
	}
	p.Run(ev)
}

// Button is a button of the mouse.
type Button = input.MouseButton

// The buttons of a mouse.
const (
	Left   = input.Left
	Middle = input.Middle
	Right  = input.Right
)

func bit(b Button) int64 { return map[Button]int64{Left: 1, Right: 2, Middle: 4}[b] }

// MouseMove moves the mouse to a place in the page, in CSS pixels from its top left.
func (p *Page) MouseMove(x, y float64) {
	p.t.Helper()
	p.x, p.y = x, y
	p.Run(input.DispatchMouseEvent(input.MouseMoved, x, y).WithButtons(p.mouse).WithModifiers(input.Modifier(p.held)))
}

// MouseDown presses a button where the mouse is and holds it.
func (p *Page) MouseDown(b Button) {
	p.t.Helper()
	p.mouse |= bit(b)
	p.click(input.MousePressed, b)
}

// MouseUp lets go of a button.
func (p *Page) MouseUp(b Button) {
	p.t.Helper()
	p.mouse &^= bit(b)
	p.click(input.MouseReleased, b)
}

func (p *Page) click(kind input.MouseType, b Button) {
	p.t.Helper()
	p.Run(input.DispatchMouseEvent(kind, p.x, p.y).WithButton(b).WithButtons(p.mouse).WithClickCount(1).
		WithModifiers(input.Modifier(p.held)))
}

// ClickAt clicks the left button at a place.
func (p *Page) ClickAt(x, y float64) {
	p.t.Helper()
	p.MouseMove(x, y)
	p.MouseDown(Left)
	p.MouseUp(Left)
}

// Click clicks the middle of the first element of a selector, after scrolling it into view.
func (p *Page) Click(selector string) {
	p.t.Helper()
	x, y := p.Center(selector)
	p.ClickAt(x, y)
}

// Center returns the middle of the first element of a selector, after scrolling it into view.
func (p *Page) Center(selector string) (x, y float64) {
	p.t.Helper()
	var at []float64
	p.Eval(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q)
		if (!e) throw new Error("no such element")
		e.scrollIntoView({block: "nearest", inline: "nearest"})
		const r = e.getBoundingClientRect()
		return [r.x + r.width / 2, r.y + r.height / 2]
	})()`, selector), &at)
	return at[0], at[1]
}
