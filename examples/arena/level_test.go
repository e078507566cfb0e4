package arena

// What most tests play on: the first level.
var (
	first = levels[0]
	flat  = first.flat()
	gates = first.gates
	pads  = first.pads
)
