// Package demo holds the demo's arena page: hand-written HTML, CSS and JavaScript modules, drawn on
// Canvas 2D. It needs web beside it, /meanwhile.json, /arena/map.json and, for the ghost of the
// truth, /truth.
package demo

import "embed"

// Files are the page's files, to be served from the root of a site.
//
//go:embed index.html guide.html second.html style.css
//go:embed address.js arena.js chat.js controls.js guide.js killcam.js scene.js second.js sound.js
//go:embed split.js tour.js world.js
var Files embed.FS
