package site

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"meanwhile/game"
	"meanwhile/session"
)

// VersionFlag is a flag that prints the variable "version" of Parse.
type VersionFlag = kong.VersionFlag

// Version returns what this program was built from, such as "v0.3.1" or "devel 4f2a91c0, changed",
// and the Go version.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown, " + runtime.Version()
	}
	version := info.Main.Version
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	const short = 8 // digits of a revision
	if v := settings["vcs.revision"]; len(v) > short {
		version = "devel " + v[:short]
		if settings["vcs.modified"] == "true" {
			version += ", changed"
		}
	} else if version == "" || version == "(devel)" {
		version = "devel"
	}
	return version + ", " + runtime.Version()
}

// VersionOf returns a line about the program of a game: two programs play together if protocol and
// schema are the same.
func VersionOf(name string, rules *game.Rules) string {
	return fmt.Sprintf("%s %s, protocol %d, schema %016x", name, Version(), session.Version, rules.Hash)
}
