// Package web holds the page of plaza, for programs that serve the game without its source.
package web

import "embed"

// Files are the page's files, to be served from the root of a site.
//
//go:embed game.js article.js
var Files embed.FS
