package site

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"meanwhile/app/internal/rerun"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/host"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
)

// pageFlags are those of replay that are about what a player's page drew.
type pageFlags struct {
	Frame   string   `placeholder:"N|TIME|last" help:"Show what a page drew in a frame, or so long after its first."`
	Picture string   `placeholder:"FILE.svg" help:"Draw that, and where the server had everybody."`
	Playout []string `placeholder:"TIME" help:"What if: others are drawn so late, or adaptive."`
}

// A playback is the replay of a page's log.
type playback struct {
	o     *replayFlags
	rules *game.Rules
	log   *rerun.Log
	room  *journal.File // what the room recorded; nil: nothing
	print func(row map[string]any, format string, args ...any)
}

// readLog reads the log of a page: a file that is one, or that in the folder of a report. A nil log
// means that there is none.
func readLog(path string) (*rerun.Log, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, host.ReportLog)
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, rerun.MaxLog+1))
	if err != nil || !rerun.Is(b) {
		return nil, err
	}
	return rerun.Parse(b)
}

// watched is what a replay of a page's log saw.
type watched struct {
	frames   int
	span     time.Duration
	differs  int // the first frame that is not the page's own; 0: none
	reported int // the newest one that the player reported; 0: none
	played   time.Duration
	late     lateness
	whatIf   []lateness // of each playout delay
	last     map[string]float64
}

// lateness is how late others were drawn, in milliseconds.
type lateness struct {
	sum     float64 // times nanoseconds
	worst   float64
	hitches uint64
}

func (l *lateness) add(ms float64, span time.Duration) {
	l.sum += float64(ms * float64(span))
	l.worst = max(l.worst, ms)
}

// watch replays the log, with playout delays for what-ifs, and calls each with the frames.
func (p *playback) watch(
	playouts []time.Duration, each func(f *rerun.Frame, pic *rerun.Picture) bool,
) (w watched, err error) {
	w.whatIf = make([]lateness, len(playouts))
	r, err := rerun.New(p.rules, p.log, playouts...)
	if err != nil {
		return w, err
	}
	first, before := 0.0, 0.0
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return w, nil
		} else if err != nil {
			return w, err
		}
		if w.frames++; w.frames == 1 {
			first, before = f.Ms, f.Ms
		}
		w.span = spanOf(f.Ms - first)
		if !f.Same && w.differs == 0 {
			w.differs = f.Number
		}
		if f.Reported {
			w.reported = f.Number
		}
		pic, err := r.Layout.Read(f.Floats)
		if err != nil {
			return w, err
		}
		w.last = pic.Stats
		if d := pic.Stats["delayMs"]; d > 0 { // the server's time is known
			span := spanOf(f.Ms - before)
			w.played += span
			w.late.add(d, span)
			for i, q := range f.WhatIf {
				late := float64(q.Late) / float64(time.Millisecond)
				w.whatIf[i].add(max(late, pic.Stats["ageMs"]), span) // past the newest record others stand still
				w.whatIf[i].hitches = q.Hitches
			}
		}
		before = f.Ms
		if each != nil && !each(&f, pic) {
			return w, nil
		}
	}
}

func spanOf(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}

// run replays the log and prints. The error says that it differs, or cannot be replayed.
func (p *playback) run() error {
	var playouts []time.Duration
	for _, text := range p.o.Playout {
		d, err := playoutOf(text)
		if err != nil {
			return err
		}
		playouts = append(playouts, d)
	}
	own, err := p.watch(playouts, nil)
	if err != nil {
		return err
	}
	same := own.differs == 0
	text := "the same picture in each"
	if !same {
		text = fmt.Sprintf("another picture than the page drew from frame %d on", own.differs)
	}
	room, where := p.log.Header.Room, ""
	if room == "" && p.room != nil {
		room = p.room.Header.Settings.Room // a page may name none
	}
	if room != "" {
		where = fmt.Sprintf(" in room %q", room)
	}
	p.print(map[string]any{"page": p.log.Header.Agent, "room": room, "frames": own.frames,
		"span_s": own.span.Seconds(), "same": same, "reported_frame": own.reported},
		"page%s: %d frames in %v, %s; reported at frame %d", where, own.frames,
		own.span.Round(time.Millisecond), text, own.reported)
	s, played := own.last, max(float64(own.played), 1)
	p.print(map[string]any{"policy": "as it was", "delay_ms": own.late.sum / played, "worst_delay_ms": own.late.worst,
		"hitches": s["hitches"], "entity_hitches": s["entityHitches"]},
		"as it was: others drawn %.0f ms late in the mean, %.0f at most; %.0f hitches of all, %.0f of single ones",
		own.late.sum/played, own.late.worst, s["hitches"], s["entityHitches"])
	for i, text := range p.o.Playout {
		l := &own.whatIf[i]
		p.print(map[string]any{"policy": "playout " + text, "delay_ms": l.sum / played, "worst_delay_ms": l.worst,
			"hitches": l.hitches}, "playout %s: others drawn %.0f ms late in the mean, %.0f at most; %d hitches of all", text,
			l.sum/played, l.worst, l.hitches)
	}
	if p.o.Frame != "" || p.o.Picture != "" {
		if err := p.show(&own); err != nil {
			return err
		}
	}
	if !same {
		return fmt.Errorf("the replay draws %s", text)
	}
	return nil
}

// playoutOf reads a value of --playout; 0 is adaptive, as on a page.
func playoutOf(text string) (time.Duration, error) {
	if text == "adaptive" || text == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("--playout %q is neither adaptive nor a time such as 100ms", text)
	}
	return d, nil
}

// frameNumber reads --frame.
func (p *playback) frameNumber(w *watched) (int, error) {
	text := p.o.Frame
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= w.frames {
		return n, nil
	}
	if text == "" || text == "last" {
		if w.reported > 0 {
			return w.reported, nil
		}
		return w.frames, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > w.span {
		return 0, fmt.Errorf("--frame %q is neither 1 to %d, nor last, nor a time up to %v", text, w.frames,
			w.span.Round(time.Millisecond))
	}
	at, first := 0, -1.0
	_, err = p.watch(nil, func(f *rerun.Frame, _ *rerun.Picture) bool {
		if first < 0 {
			first = f.Ms
		}
		at = f.Number
		return spanOf(f.Ms-first) < d
	})
	return at, err
}

// trailFrames is for how many frames before a picture it shows where everybody was drawn.
const trailFrames = 60

// show prints one frame, and draws it.
func (p *playback) show(w *watched) error {
	n, err := p.frameNumber(w)
	if err != nil {
		return err
	}
	shown := &picture{number: n, trails: map[uint32][]geom.Vec2{}}
	_, err = p.watch(nil, func(f *rerun.Frame, pic *rerun.Picture) bool {
		if f.Number > n-trailFrames {
			for i := range pic.Entities {
				if e := &pic.Entities[i]; e.Placed {
					shown.trails[e.ID] = append(shown.trails[e.ID], geom.Vec2{X: e.X, Y: e.Y})
				}
			}
		}
		if f.Number < n {
			return true
		}
		shown.Picture, shown.ms = *pic, f.Ms
		for i := range shown.Entities { // the floats are those of the frame alone
			shown.Entities[i].Values = slices.Clone(shown.Entities[i].Values)
		}
		return false
	})
	if err == nil {
		err = p.truth(shown)
	}
	if err != nil {
		return err
	}
	p.list(shown)
	if p.o.Picture == "" {
		return nil
	}
	return os.WriteFile(p.o.Picture, shown.svg(), 0o666)
}

// list prints what a frame showed.
func (p *playback) list(s *picture) {
	st := s.Stats
	p.print(map[string]any{"frame": s.number, "ms": s.ms, "me": s.Me, "stats": st},
		"frame %d  at %.3f s  playout delay %.0f ms, newest record %.0f ms old, %.0f corrections, %.1f cm off, %.0f hitches",
		s.number, s.ms/1000, st["delayMs"], st["ageMs"], st["corrections"], st["correctionCm"], st["hitches"])
	for i := range s.Entities {
		e := &s.Entities[i]
		row := map[string]any{"frame": s.number, "entity": e.ID, "kind": e.Kind, "mine": e.Mine, "cut": e.Cut,
			"predicted": e.Predicted, "stalled": e.Stalled, "late_ms": e.LateMs, "interval_ms": e.IntervalMs}
		text := fmt.Sprintf("frame %d  %s %d", s.number, e.Kind, e.ID)
		if e.Placed {
			row["x"], row["y"], row["z"] = e.X, e.Y, e.Z
			text += fmt.Sprintf("  at %.3f %.3f %.3f", e.X, e.Y, e.Z)
		}
		switch {
		case e.Predicted:
			text += "  predicted"
		case e.Placed:
			text += fmt.Sprintf("  %.0f ms late", st["delayMs"]+e.LateMs)
		}
		if at, ok := s.now[e.ID]; ok && e.Placed {
			off := at.Sub(geom.Vec3{X: e.X, Y: e.Y, Z: e.Z}).Len()
			row["server_now_m"] = off
			text += fmt.Sprintf("  %.2f m from where the server had it", off)
		}
		if at, ok := s.then[e.ID]; ok && e.Placed && !e.Predicted {
			off := at.Sub(geom.Vec3{X: e.X, Y: e.Y, Z: e.Z}).Len()
			row["server_then_m"] = off
			text += fmt.Sprintf(", %.2f m from where it had it then", off)
		}
		if e.Stalled {
			text += "  stalled"
		}
		p.print(row, "%s", text)
	}
}

// truth finds out where the server had everybody at the frame, and at the moment of the past that
// was drawn. Without a journal of that moment it leaves both open.
func (p *playback) truth(s *picture) error {
	period, at := s.Stats["periodMs"], s.Stats["tick"]
	if p.room == nil || period <= 0 {
		return nil
	}
	now := at + s.Stats["ageMs"]/period
	behind := func(e *rerun.Entity) float64 { return now - (s.Stats["delayMs"]+e.LateMs)/period }
	from, to := math.Floor(now), math.Floor(now)+1
	for i := range s.Entities {
		from = min(from, math.Floor(behind(&s.Entities[i])))
	}
	first, last, _ := p.room.Ends()
	if from < float64(first) {
		return nil
	}
	from, to = min(from, float64(last)), min(to, float64(last)) // a page may believe that more ticks have run
	r, err := journal.NewReplay(p.rules, p.room)
	if err != nil {
		return err
	}
	var ticks []map[uint32]geom.Vec3 // from the tick from on
	for t := clock.Tick(from); t <= clock.Tick(to); t++ {
		if err := r.Seek(t); err != nil {
			return err
		}
		ticks = append(ticks, p.places(r))
	}
	between := func(id uint32, tick float64) (geom.Vec3, bool) {
		i := max(int(math.Floor(tick)-from), 0)
		a, ok := ticks[min(i, len(ticks)-1)][id]
		b, also := ticks[min(i+1, len(ticks)-1)][id]
		return a.Add(b.Sub(a).Mul(tick - math.Floor(tick))), ok && also
	}
	s.now, s.then = map[uint32]geom.Vec3{}, map[uint32]geom.Vec3{}
	for i := range s.Entities {
		e := &s.Entities[i]
		if at, ok := between(e.ID, now); ok {
			s.now[e.ID] = at
		}
		if at, ok := between(e.ID, behind(e)); ok {
			s.then[e.ID] = at
		}
	}
	return nil
}

// places returns where the server has everybody who has a place of its own.
func (p *playback) places(r *journal.Replay) map[uint32]geom.Vec3 {
	at := map[uint32]geom.Vec3{}
	eng := r.Server.Engine()
	eng.States(func(_ string, id game.ID, _ any) bool {
		kind, sims := eng.Sims(id)
		k := p.rules.Kinds[kind]
		if place, ok := k.PlaceOf(k.AppendExact(nil, nil, sims, 65536)); ok {
			at[uint32(id)] = place
		}
		return true
	})
	return at
}
