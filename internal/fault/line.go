package fault

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Line returns the directory, file and line that called the packages of this module at some paths,
// such as "kick/kick.go:42"; "" if that is not known. Test files of these packages are callers, and
// package runtime is not: called while a panic is recovered from, Line names what panicked.
func Line(paths ...string) string {
	_, here, _, _ := runtime.Caller(0)
	root := strings.TrimSuffix(here, "internal/fault/line.go")
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		rest, inside := strings.CutPrefix(f.File, root)
		slash := strings.LastIndexByte(rest, '/')
		if f.File == "" || strings.HasPrefix(f.Function, "runtime.") ||
			inside && slash >= 0 && !strings.HasSuffix(rest, "_test.go") && slices.Contains(paths, rest[:slash]) {
			continue
		}
		dir := strings.LastIndexByte(f.File, '/')
		dir = strings.LastIndexByte(f.File[:max(dir, 0)], '/')
		return f.File[dir+1:] + ":" + strconv.Itoa(f.Line)
	}
	return ""
}
