//go:build js && wasm

// A program in WebAssembly that offers the bridge and nothing behind it: a place that follows its commands.
package main

import (
	"encoding/binary"
	"math"
	"syscall/js"
)

const layout = `{"game": "zap", "rate": 30,
	"kinds": [{"name": "pilot", "properties": [{"name": "pos", "type": "vec2"}, {"name": "name", "type": "text"}]}],
	"events": [], "command": [{"name": "move", "type": "vec2"}, {"name": "aim", "type": "angle"}, {"name": "fire", "type": "press"}],
	"stats": ["tick", "state"], "profiles": []}`

var (
	start, now float64
	tick       int
	x, y       float64
	buf        []byte
)

// floats copies values to a Uint8Array of the page, if they fit, and returns how many there are.
func floats(into js.Value, values ...float64) any {
	buf = buf[:0]
	for _, v := range values {
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(v))
	}
	if into.Length() >= len(buf) {
		js.CopyBytesToJS(into, buf)
	}
	return len(values)
}

func main() {
	bridge := map[string]any{}
	on := func(name string, f func(args []js.Value) any) {
		bridge[name] = js.FuncOf(func(_ js.Value, args []js.Value) any { return f(args) })
	}
	on("start", func([]js.Value) any { return map[string]any{"error": "", "layout": layout} })
	on("hello", func([]js.Value) any { return js.Global().Get("Uint8Array").New(4) })
	on("welcome", func([]js.Value) any { return map[string]any{"error": "", "retryMs": 0} })
	on("texts", func([]js.Value) any { return `["", "ann"]` })
	for _, name := range []string{"message", "lost", "dropped", "receive", "leave"} {
		on(name, func([]js.Value) any { return nil })
	}
	on("setting", func(args []js.Value) any {
		if args[0].String() == "die" {
			panic("as the test asked")
		}
		return ""
	})
	on("frame", func(args []js.Value) any {
		if now = args[0].Float(); start == 0 {
			start = now
		}
		return max(0, min(4, int((now-start)*30/1000)-tick))
	})
	on("me", func(args []js.Value) any { return floats(args[0], 0, 7, 1, x, y, 1) })
	on("tick", func(args []js.Value) any {
		cmd := make([]byte, args[0].Length())
		js.CopyBytesToGo(cmd, args[0])
		x += math.Float64frombits(binary.LittleEndian.Uint64(cmd[0:])) * 0.3
		y += math.Float64frombits(binary.LittleEndian.Uint64(cmd[8:])) * 0.3
		tick++
		return nil
	})
	on("draw", func(args []js.Value) any {
		return floats(args[0], 1, 16, 7, 1, 2, 1, 0, 0, float64(tick), 1, 1, 7, 1|4, 0, x, y, 1)
	})
	js.Global().Set("__meanwhile", bridge)
	select {}
}
