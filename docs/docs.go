// Package docs holds the guides, for pages that show them.
package docs

import "embed"

// Guides are guide/*.md and the pictures in them, to be served from the root of a site.
//
//go:embed guide/*.md images/three-nows.svg
var Guides embed.FS
