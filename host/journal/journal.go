// Package journal records the world of a room and replays it bit for bit. A world is a function of
// the calls that it gets: who came and went, the datagrams with the times at which they arrived,
// and when each tick was planned. A Server is a server.Server that writes these calls down, as a
// log in blocks, with a checkpoint of everything every so often. A Replay makes the same calls
// again.
//
// Each tick's entry has a sum of every byte that the tick sent, so that a replay which differs, by
// a bug or by rules that are not deterministic, says in which tick it began.
//
// The package gets the time and starts no goroutine: whoever records takes the chunks, and says
// whether there was room for them. Nothing here waits for a disk.
package journal

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

// Limits of a journal. Longer chunks are refused; a room that needs them is not recorded.
const (
	maxHeader = 1 << 20
	maxChunk  = 1 << 26 // bytes, compressed or not
)

// version is that of the form of journals that this package writes and reads.
const version = 2

// format is how a header names the form, with the version.
const format = "meanwhile journal %d"

// A Header says what was recorded. It stands before each checkpoint, and at the start.
type Header struct {
	Format string // see version
	Game   string
	Hash   uint64 // of the schema
	Text   string // the schema
	Build  string // identifies the program, rules and all; empty: not known
	// World tells worlds apart, those of the same room, too; 0: not known.
	World uint64
	// Started is when the world was opened, on the calendar.
	Started time.Time
	// Restarts is how often the world was restored since it last ran for a while; see host.
	Restarts int
	Settings Settings
}

// Settings are what a world is opened with; server.Config describes them.
type Settings struct {
	Seed, Secret                        uint64
	Clients, Budget                     int
	Guard, Rewind, RewindTotal, Playout time.Duration
	Room                                string
}

// Config returns the settings as a world takes them.
func (s *Settings) Config() server.Config {
	return server.Config{Seed: s.Seed, Secret: s.Secret, Clients: s.Clients, Budget: s.Budget, Guard: s.Guard,
		Rewind: s.Rewind, RewindTotal: s.RewindTotal, Playout: s.Playout, Room: s.Room}
}

// settingsOf is the reverse of Config.
func settingsOf(c *server.Config) Settings {
	return Settings{Seed: c.Seed, Secret: c.Secret, Clients: c.Clients, Budget: c.Budget, Guard: c.Guard,
		Rewind: c.Rewind, RewindTotal: c.RewindTotal, Playout: c.Playout, Room: c.Room}
}

// checkVersion returns an error unless this program reads the form of the journal.
func (h *Header) checkVersion() error {
	is := 0
	_, err := fmt.Sscanf(h.Format, format, &is)
	age := "older"
	switch {
	case err != nil || h.Format != fmt.Sprintf(format, is):
		return fmt.Errorf("%w: its header says %.40q, not %q", ErrMalformed, h.Format, fmt.Sprintf(format, version))
	case is == version:
		return nil
	case is > version:
		age = "newer"
	}
	return fmt.Errorf("journal: it has version %d, %s than version %d, which this program reads", is, age, version)
}

// ErrSchema is wrapped by errors about a journal whose rules had another schema.
var ErrSchema = errors.New("journal: it is of another schema")

// check returns an error that names the difference unless the header is of these rules.
func (h *Header) check(rules *game.Rules) error {
	if h.Game != rules.Name {
		return fmt.Errorf("journal: it is of game %s, not of %s", h.Game, rules.Name)
	}
	if h.Hash == rules.Hash {
		return nil
	}
	was, is := lines(h.Text), lines(rules.Text)
	for i := range max(len(was), len(is)) {
		a, b := "nothing", "nothing"
		if i < len(was) {
			a = was[i]
		}
		if i < len(is) {
			b = is[i]
		}
		if a != b {
			return fmt.Errorf("%w of %s: it has %q where this program has %q", ErrSchema, h.Game, a, b)
		}
	}
	return fmt.Errorf("%w of %s", ErrSchema, h.Game)
}

func lines(s string) []string {
	var l []string
	for _, b := range bytes.Split([]byte(s), []byte("\n")) {
		l = append(l, string(b))
	}
	return l
}

// Kinds of chunks.
const (
	KindHeader     = 'H'
	KindCheckpoint = 'C'
	KindLog        = 'L'
)

// A Chunk is a part of a journal. It belongs to whoever takes it.
type Chunk struct {
	Kind    byte
	Payload []byte
	tick    clock.Tick // the newest complete one at its end
	time    clock.Time // the server time of that tick
}

// chunkHead is what stands before a chunk's payload:
//
//	offset  size  field
//	0       1     Kind
//	1       4     Tick, little-endian as all
//	5       8     Time
//	13      4     length of the payload
//	17      4     length of the payload compressed (RFC 1951), as which it follows
//	21      4     CRC-32C of the 21 bytes before and the compressed payload
const chunkHead = 25

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends a chunk as it stands in a file. It compresses, so it is not for a tick loop.
func (c *Chunk) Append(dst []byte) ([]byte, error) {
	if len(c.Payload) > maxChunk {
		return dst, fmt.Errorf("journal: a chunk of %d bytes, at most %d", len(c.Payload), maxChunk)
	}
	start := len(dst)
	dst = append(dst, make([]byte, chunkHead)...)
	out := bytes.NewBuffer(dst)
	w, err := flate.NewWriter(out, flate.BestSpeed)
	if err != nil {
		return dst[:start], err
	}
	if _, err = w.Write(c.Payload); err == nil {
		err = w.Close()
	}
	if err != nil {
		return dst[:start], err
	}
	dst = out.Bytes()
	h := dst[start:]
	h[0] = c.Kind
	binary.LittleEndian.PutUint32(h[1:], uint32(c.tick))
	binary.LittleEndian.PutUint64(h[5:], uint64(c.time))
	binary.LittleEndian.PutUint32(h[13:], uint32(len(c.Payload)))
	binary.LittleEndian.PutUint32(h[17:], uint32(len(h)-chunkHead))
	binary.LittleEndian.PutUint32(h[21:], sumOf(h))
	return dst, nil
}

// sumOf returns the checksum of a chunk.
func sumOf(chunk []byte) uint32 {
	return crc32.Update(crc32.Checksum(chunk[:chunkHead-4], castagnoli), castagnoli, chunk[chunkHead:])
}

// ErrMalformed is wrapped by errors about bytes that are no journal.
var ErrMalformed = errors.New("journal: malformed")

// A File is a journal in memory.
type File struct {
	Header Header
	// Torn says where the journal, or one of its parts, ends before its bytes do; nil: nowhere.
	Torn   error
	chunks []span

	revived bool // by the header before the next chunk
}

// A span is a chunk in a File.
type span struct {
	kind byte
	tick clock.Tick
	time clock.Time
	b    []byte // head and compressed payload
	// revived marks the checkpoint of a world that was restored after a crash.
	revived bool
}

// Parse reads a journal: one file, or the files of a room in their order, each of which begins with
// a header. It fails if no sound header begins any of them. Bytes of a file from its first unsound
// chunk on are left out, as Torn says, and so is what has no checkpoint before it. It retains the
// files.
func Parse(files ...[]byte) (*File, error) {
	f := &File{}
	for i, b := range files {
		n, err := f.part(b, i == 0)
		if err != nil && f.Torn == nil {
			f.Torn = fmt.Errorf("%w, at byte %d of %d", err, n, len(b))
		}
	}
	switch {
	case f.Header.Format != "":
		return f, nil
	case f.Torn != nil:
		return nil, f.Torn
	}
	return nil, fmt.Errorf("%w: it is empty", ErrMalformed)
}

// Begins reports whether a replay can begin with the file: it has a checkpoint, or is that of a
// room from its first tick on.
func (f *File) Begins() bool { return len(f.chunks) > 0 }

// Sound returns how many bytes at the beginning of a file are sound chunks.
func Sound(b []byte) (n int) {
	for n < len(b) {
		s, err := nextSpan(b[n:])
		if err != nil {
			break
		}
		n += len(s.b)
	}
	return n
}

// part reads one file, and returns how many bytes of it are sound.
func (f *File) part(b []byte, first bool) (sound int, err error) {
	begun := first
	for sound < len(b) {
		s, err := nextSpan(b[sound:])
		switch {
		case err != nil:
		case s.kind == KindHeader:
			err = f.header(s)
		case sound == 0:
			err = fmt.Errorf("%w: no header begins it", ErrMalformed)
		case s.kind == KindCheckpoint || begun:
			begun = true
			s.revived, f.revived = f.revived, false
			f.chunks = append(f.chunks, s)
		}
		if err != nil {
			return sound, err
		}
		sound += len(s.b)
	}
	return sound, nil
}

// nextSpan checks the chunk at the beginning of b.
func nextSpan(b []byte) (span, error) {
	if len(b) < chunkHead {
		return span{}, fmt.Errorf("%w: a chunk is cut off", ErrMalformed)
	}
	raw, size := binary.LittleEndian.Uint32(b[13:]), binary.LittleEndian.Uint32(b[17:])
	s := span{kind: b[0], tick: clock.Tick(binary.LittleEndian.Uint32(b[1:])),
		time: clock.Time(binary.LittleEndian.Uint64(b[5:]))}
	switch {
	case s.kind != KindHeader && s.kind != KindCheckpoint && s.kind != KindLog:
		return span{}, fmt.Errorf("%w: there is no kind %q of chunks", ErrMalformed, s.kind)
	case raw > maxChunk || size > maxChunk || s.kind == KindHeader && raw > maxHeader:
		return span{}, fmt.Errorf("%w: a chunk of %d bytes", ErrMalformed, raw)
	case len(b) < chunkHead+int(size):
		return span{}, fmt.Errorf("%w: a chunk is cut off", ErrMalformed)
	}
	s.b = b[:chunkHead+int(size)]
	if sumOf(s.b) != binary.LittleEndian.Uint32(b[21:]) {
		return span{}, fmt.Errorf("%w: the checksum of a chunk does not fit", ErrMalformed)
	}
	return s, nil
}

// Append appends a header as it stands in a file.
func (h *Header) Append(dst []byte) ([]byte, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return dst, err
	}
	c := Chunk{Kind: KindHeader, Payload: b}
	return c.Append(dst)
}

// header reads a header: the first, or a later one, which must fit the first.
func (f *File) header(s span) error {
	p, err := s.payload()
	if err != nil {
		return err
	}
	var h Header
	if err := json.Unmarshal(p, &h); err != nil {
		return fmt.Errorf("%w: its header: %w", ErrMalformed, err)
	}
	if err := h.checkVersion(); err != nil {
		return err
	}
	if f.Header.Format != "" && (h.Hash != f.Header.Hash || h.Build != f.Header.Build || h.Settings != f.Header.Settings) {
		return errors.New("journal: what follows is of another world")
	}
	if f.Header.Format != "" {
		h.Started = f.Header.Started
	}
	f.Header, f.revived = h, h.Restarts > 0
	return nil
}

// payload returns the payload of a chunk.
func (s *span) payload() ([]byte, error) {
	want := int(binary.LittleEndian.Uint32(s.b[13:]))
	p, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(s.b[chunkHead:])), int64(want)+1))
	if err != nil || len(p) != want {
		return nil, fmt.Errorf("%w: a chunk holds other than its %d bytes", ErrMalformed, want)
	}
	return p, nil
}

// Ends returns the first and the newest tick that a replay of the whole file computes, and the time
// of the newest.
func (f *File) Ends() (first, last clock.Tick, at clock.Time) {
	first = 1
	if len(f.chunks) > 0 && f.chunks[0].kind == KindCheckpoint {
		first = f.chunks[0].tick + 1
	}
	if n := len(f.chunks); n > 0 {
		last, at = f.chunks[n-1].tick, f.chunks[n-1].time
	}
	return first, last, at
}
