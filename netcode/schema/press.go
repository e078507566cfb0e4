package schema

import "reflect"

// An edge in a command: never repeated, and moved to the next tick when it is late.
var pressClass = class{
	name: "press", goes: "bool", works: "press",
	tags:   tagRules{kind: reflect.Bool, group: 1},
	facts:  facts{shape: ShapePress, input: InputPress},
	values: boolRules,
}
