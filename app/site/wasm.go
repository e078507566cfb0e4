package site

// Wasm returns the program as it is before packing, not to be changed.
func (p *Program) Wasm() []byte { return p.wasm.raw }
