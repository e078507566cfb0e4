//go:build !js

package arena

import "embed"

// Source is the rules themselves, for pages that show them.
//
//go:embed arena.go board.go bot.go door.go maps.go melee.go nav.go platform.go result.go
//go:embed rifle.go rocket.go talk.go walk.go weapons.go world.go
var Source embed.FS
