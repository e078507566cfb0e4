//go:build js && wasm

// Package app makes a program of a game. Natively the program is a server with a page, bots and
// flags; compiled to WebAssembly it is the browser's client, which the page's library meanwhile.js
// drives.
package app

import (
	"syscall/js"
	"unsafe"

	"meanwhile/app/internal/bridge"
	"meanwhile/game"
	"meanwhile/netcode/wire"
)

// Main runs the game as the engine of the page that loaded it, and does not return. The page gets
// mistakes in the definition. Options are for the server.
func Main[C any](def *game.Definition[C], _ ...Options) {
	rules, err := def.Rules()
	offer(&engine{rules: rules, err: err})
	select {}
}

// A Store is of no use in a browser.
type Store = any

// A Handler is of no use in a browser.
type Handler = any

// engine is the bridge as JavaScript calls it.
type engine struct {
	rules *game.Rules
	err   error
	b     *bridge.Bridge // nil before start
	in    []float64      // where the page writes datagrams and commands
	out   []float64      // what it reads

	uint8Array js.Value
}

// offer sets the global that the page takes the engine from.
func offer(e *engine) {
	exported = e
	e.uint8Array = js.Global().Get("Uint8Array")
	object := js.Global().Get("Object").New()
	for _, name := range [...]string{
		"start", "hello", "welcome", "message", "lost", "dropped", "texts", "desyncs", "say", "heard", "setting",
		"leave",
	} {
		object.Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any { return e.call(name, args) }))
	}
	js.Global().Set("__meanwhile", object)
}

// call runs one call of the page; docs/BRIDGE.md describes them. A switch makes a smaller program
// than a table of functions.
func (e *engine) call(name string, args []js.Value) any {
	switch name {
	case "start":
		return e.start(args[0], args[1])
	case "hello":
		return e.bytes(e.b.Hello(take(args[0]), text(args[1])))
	case "welcome":
		a := e.b.Welcome(take(args[0]), args[2].Float())
		return map[string]any{"error": a.Refused, "retryMs": a.RetryMs, "needsToken": a.NeedsToken,
			"needsCode": a.NeedsCode, "note": a.Note, "resume": a.Resume}
	case "message":
		r := e.b.Message(take(args[0]))
		return map[string]any{"goodbye": r.Goodbye, "notice": r.Notice, "inMs": r.InMs, "to": r.To}
	case "lost":
		e.b.Lost()
	case "dropped":
		e.b.Dropped(wire.Seq(args[0].Int()))
	case "texts":
		return e.b.Texts()
	case "say":
		return e.say(args[0].Int(), args[1], text(args[2]))
	case "heard":
		return e.b.Heard()
	case "desyncs":
		return e.b.Desyncs()
	case "setting":
		return e.set(text(args[0]), args[1])
	case "leave":
		e.b.Leave()
	}
	return nil
}

// start makes the engine from its configuration. message is the page's function that sends a message
// on the reliable stream.
func (e *engine) start(configuration, message js.Value) any {
	refuse := func(err string) any { return map[string]any{"error": err, "layout": ""} }
	if e.err != nil {
		return refuse(e.err.Error())
	}
	config := js.Global().Get("JSON").Call("parse", configuration)
	if v := config.Get("bridge"); v.Type() != js.TypeNumber || v.Int() != bridge.Version {
		return refuse("The game's program speaks another version of the bridge than this page. Reload the page.")
	}
	crypto, console := js.Global().Get("crypto"), js.Global().Get("console")
	b, err := bridge.New(e.rules, bridge.Config{
		Game: text(config.Get("game")), Room: text(config.Get("room")), Name: text(config.Get("name")),
		Guest:  text(config.Get("guest")),
		Resume: text(config.Get("resume")),
		Random: func(into []byte) {
			js.CopyBytesToGo(into, crypto.Call("getRandomValues", e.uint8Array.New(len(into))))
		},
		Send:     send,
		Message:  func(m []byte) { message.Invoke(e.bytes(m)) },
		Clock:    clock,
		Complain: func(s string) { console.Call("error", s) },
		Warn:     func(s string) { console.Call("warn", s) },
	})
	if err != nil {
		return refuse(err.Error())
	}
	e.b = b
	if settings := config.Get("settings"); settings.Type() == js.TypeObject {
		names := js.Global().Get("Object").Call("keys", settings)
		for i := range names.Length() {
			name := names.Index(i).String()
			if refused := e.set(name, settings.Get(name)); refused != "" {
				console.Call("warn", refused)
			}
		}
	}
	return map[string]any{"error": "", "layout": b.Layout()}
}

// text is the string that v is, or "".
func text(v js.Value) string {
	if v.Type() != js.TypeString {
		return ""
	}
	return v.String()
}

// bytes returns a new array of the page's with a copy of b.
func (e *engine) bytes(b []byte) js.Value {
	into := e.uint8Array.New(len(b))
	js.CopyBytesToJS(into, b)
	return into
}

// take returns a copy of the page's bytes.
func take(v js.Value) []byte {
	b := make([]byte, v.Length())
	js.CopyBytesToGo(b, v)
	return b
}

func (e *engine) say(message int, floats js.Value, texts string) any {
	values := make([]float64, floats.Length()/8)
	js.CopyBytesToGo(raw(values), floats)
	call, refused := e.b.Say(message, values, texts)
	return map[string]any{"error": refused, "call": call}
}

func (e *engine) set(name string, v js.Value) string {
	switch v.Type() {
	case js.TypeNumber:
		return e.b.Set(name, v.Float())
	case js.TypeBoolean:
		if v.Bool() {
			return e.b.Set(name, 1)
		}
		return e.b.Set(name, 0)
	case js.TypeString:
		return e.b.SetText(name, v.String())
	}
	return name + " is neither a number nor a text."
}

// raw returns the bytes of f.
func raw(f []float64) []byte {
	if len(f) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 8*len(f))
}
