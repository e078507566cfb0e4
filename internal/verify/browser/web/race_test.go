package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meanwhile/internal/verify/browser"
)

// The Worker's own code races two fake transports, to the millisecond: the first is alone for 400
// ms, the second hello waits 1.5 s for the first's answer, and the race ends after 9 s.
func TestRaceInVirtualTime(t *testing.T) {
	s := newSite(t)
	p := browser.New(t)
	p.Open(s.URL + "/testdata/bridge.js") // any page of this origin
	p.Eval(script(t, "testdata/race.js"), nil)
	for _, c := range []struct {
		name, first, script string
		want                []string
	}{
		{"nobody answers", "",
			`[[9000]]`,
			[]string{"0 webtransport", "400 websocket", "9000 websocket is closed", "failed", "9000 webtransport is closed"}},
		{"who went first last time goes first again", "websocket",
			`[[399], [9000]]`,
			[]string{"0 websocket", "400 webtransport", "9000 websocket is closed", "failed", "9000 webtransport is closed"}},
		{"the first answers in time", "",
			`[[300, "webtransport", "open"], [399, "webtransport", "answer"], [20000]]`,
			[]string{"0 webtransport", "300 webtransport is greeted", "webtransport wins"}},
		{"the first answers too late to be alone", "",
			`[[300, "webtransport", "open"], [500, "webtransport", "answer"], [20000]]`,
			[]string{"0 webtransport", "300 webtransport is greeted", "400 websocket",
				"500 websocket is closed", "webtransport wins"}},
		{"the first fails", "",
			`[[100, "webtransport", "fail"], [150, "websocket", "open"], [200, "websocket", "answer"], [20000]]`,
			[]string{"0 webtransport", "100 webtransport is closed", "100 websocket",
				"150 websocket is greeted", "websocket wins"}},
		{"the first takes a hello and says nothing", "",
			`[[100, "webtransport", "open"], [450, "websocket", "open"], [1700, "websocket", "answer"], [20000]]`,
			[]string{"0 webtransport", "100 webtransport is greeted", "400 websocket", "1600 websocket is greeted",
				"websocket wins", "1700 webtransport is closed"}},
		{"the first takes a hello and fails", "",
			`[[100, "webtransport", "open"], [450, "websocket", "open"], [700, "webtransport", "fail"],
				[800, "websocket", "answer"], [20000]]`,
			[]string{"0 webtransport", "100 webtransport is greeted", "400 websocket", "700 webtransport is closed",
				"700 websocket is greeted", "websocket wins"}},
		{"both fail", "",
			`[[100, "webtransport", "fail"], [200, "websocket", "fail"], [20000]]`,
			[]string{"0 webtransport", "100 webtransport is closed", "100 websocket", "failed"}},
	} {
		var got []string
		p.Eval(fmt.Sprintf("race(%q, %s)", c.first, c.script), &got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
