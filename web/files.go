// Package web holds what a page loads to play: the library meanwhile.js, the Worker transport.js that it starts, and a page
// for games that bring only a game.js. The bridge between the library and the engine is described at the head of meanwhile.js.
package web

import "embed"

// Files are meanwhile.js, transport.js and index.html, to be served from the root of a site.
//
//go:embed meanwhile.js transport.js index.html
var Files embed.FS
