package main

import (
	"net/url"
	"strings"
	"syscall/js"
)

// wishes reads the address of the page: ?name=Ada&auto&panel. The server is where the page comes
// from.
func wishes() (w wish, err error) {
	q, err := url.ParseQuery(strings.TrimPrefix(js.Global().Get("location").Get("search").String(), "?"))
	if err != nil {
		return w, err
	}
	w.width = 1280 // the page decides
	w.name, w.auto, w.panel = q.Get("name"), q.Has("auto"), q.Has("panel")
	return w, nil
}
