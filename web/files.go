// Package web holds what a page loads to play: meanwhile.js, which a page imports and whose head is
// the page's API; its modules in meanwhile/, and those of the panel, which a page loads when somebody
// opens it, in meanwhile/panel/; the Worker transport.js; and a page for games that
// bring only a game.js. docs/BRIDGE.md describes the calls between these scripts and the engine.
package web

import (
	"embed"
	"io/fs"
)

// Files are the files of the library, to be served from the root of a site.
//
//go:embed meanwhile.js meanwhile/*.js meanwhile/panel/*.js meanwhile/dev/*.js transport.js index.html
var Files embed.FS

// Modules returns the addresses of the scripts that a page loads when it imports meanwhile.js, from
// the root of a site. A browser that knows them all from the start does not have to find them one
// after the other.
func Modules() []string {
	names, err := fs.Glob(Files, "meanwhile/*.js")
	if err != nil { // the pattern is malformed
		panic(err)
	}
	urls := []string{"/meanwhile.js"}
	for _, name := range names {
		urls = append(urls, "/"+name)
	}
	return urls
}
