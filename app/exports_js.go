//go:build js && wasm

package app

import (
	"time"
	"unsafe"
)

// What is called for each frame and each datagram are exports and imports of the program itself;
// docs/BRIDGE.md describes them. Through syscall/js each call would leave references to JavaScript
// objects: by the ten thousands, until a collection that stops the page for 40 ms takes them away.

// exported is the engine of this program.
var exported *engine

//go:wasmexport engine_buffer
func buffer(n int32) unsafe.Pointer {
	e := exported
	if words := (int(n) + 7) / 8; len(e.in) < words {
		e.in = make([]float64, words)
	}
	return unsafe.Pointer(unsafe.SliceData(e.in))
}

//go:wasmexport engine_receive
func receive(n int32, arrivalMs float64) { exported.b.Receive(raw(exported.in)[:n], arrivalMs) }

//go:wasmexport engine_frame
func frame(nowMs, shownMs float64) int32 { return int32(exported.b.Frame(nowMs, shownMs)) }

//go:wasmexport engine_tick
func tick(n int32, pressedMs float64) { exported.b.Tick(exported.in[:n], pressedMs) }

//go:wasmexport engine_me
func me(pressedMs float64) int32 {
	exported.out = exported.b.Me(pressedMs)
	return int32(len(exported.out))
}

//go:wasmexport engine_draw
func draw() int32 {
	exported.out = exported.b.Draw()
	return int32(len(exported.out))
}

//go:wasmexport engine_drawn
func drawn() { exported.b.Drawn() }

//go:wasmexport engine_floats
func floats() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(exported.out)) }

//go:wasmimport meanwhile send
//go:noescape
func sendDatagram(data unsafe.Pointer, n int32, releaseMs float64, stamped bool)

//go:wasmimport meanwhile clock
func clockMs() float64

// send sends a datagram.
func send(d []byte, releaseMs float64, stamped bool) {
	sendDatagram(unsafe.Pointer(unsafe.SliceData(d)), int32(len(d)), releaseMs, stamped)
}

// clock times frames; package time's own clock would make a larger program.
func clock() time.Duration { return time.Duration(clockMs() * float64(time.Millisecond)) }
