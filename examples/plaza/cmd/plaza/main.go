package main

import (
	"meanwhile/app"
	"meanwhile/examples/plaza"
)

// Natively this is server, page, bots and flags; built with GOOS=js it is the browser's client.
func main() { app.Main(&plaza.Game) }
