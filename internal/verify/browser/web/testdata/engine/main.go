//go:build js && wasm

// A program in WebAssembly that offers the bridge and nothing behind it: a place that follows its commands.
package main

import (
	"syscall/js"
	"unsafe"
)

const layout = `{"game": "zap", "rate": 30,
	"kinds": [{"name": "pilot", "properties": [{"name": "pos", "type": "vec2"}, {"name": "name", "type": "text"}]}],
	"events": [], "command": [{"name": "move", "type": "vec2"}, {"name": "aim", "type": "angle"}, {"name": "fire", "type": "press"}],
	"stats": ["tick", "state"], "profiles": []}`

var (
	start, now float64
	tick       int
	x, y       float64
	in, out    []float64
	dying      bool
)

//go:wasmexport engine_buffer
func buffer(n int32) unsafe.Pointer {
	if len(in) < int(n) {
		in = make([]float64, n)
	}
	return unsafe.Pointer(unsafe.SliceData(in))
}

//go:wasmexport engine_receive
func receive(int32, float64) {}

//go:wasmexport engine_frame
func frame(nowMs, _ float64) int32 {
	if dying {
		panic("in a frame, as the test asked")
	}
	if now = nowMs; start == 0 {
		start = now
	}
	return int32(max(0, min(4, int((now-start)*30/1000)-tick)))
}

//go:wasmexport engine_tick
func doTick(int32, float64) {
	x += in[0] * 0.3
	y += in[1] * 0.3
	tick++
}

//go:wasmexport engine_me
func me(float64) int32 {
	out = append(out[:0], 0, 7, 1, x, y, 1)
	return int32(len(out))
}

//go:wasmexport engine_draw
func draw() int32 {
	out = append(out[:0], 2, 16, 7, 1, 2, 1, 0, 0, float64(tick), 1, 1, 7, 1|4, 0, x, y, 1)
	return int32(len(out))
}

//go:wasmexport engine_drawn
func drawn() {}

//go:wasmexport engine_floats
func floats() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(out)) }

func main() {
	bridge := map[string]any{}
	on := func(name string, f func(args []js.Value) any) {
		bridge[name] = js.FuncOf(func(_ js.Value, args []js.Value) any { return f(args) })
	}
	on("start", func([]js.Value) any { return map[string]any{"error": "", "layout": layout} })
	on("hello", func([]js.Value) any { return js.Global().Get("Uint8Array").New(4) })
	on("welcome", func([]js.Value) any { return map[string]any{"error": "", "retryMs": 0} })
	on("texts", func([]js.Value) any { return `["", "ann"]` })
	for _, name := range []string{"message", "lost", "dropped", "leave"} {
		on(name, func([]js.Value) any { return nil })
	}
	on("setting", func(args []js.Value) any {
		if args[0].String() == "die" {
			panic("as the test asked")
		}
		dying = dying || args[0].String() == "die in a frame"
		return ""
	})
	js.Global().Set("__meanwhile", bridge)
	select {}
}
