package site

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
)

const (
	// brotliLevel packs three megabytes of WebAssembly in a quarter of a second; the best level
	// takes twenty times as long for a tenth less.
	brotliLevel = 5
	// packAbove is the size in bytes above which a file is packed at all.
	packAbove = 512
	// keptAssets is how many files are kept packed in memory. When there are more, all are
	// forgotten.
	keptAssets = 256
	// maxFile is the size in bytes of the largest file that is served.
	maxFile = 64 << 20
)

// types are the content types that must not depend on what is installed on the machine.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".json": "application/json", ".wasm": "application/wasm",
	".svg": "image/svg+xml",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif",
	".ico": "image/x-icon",
	".txt": "text/plain; charset=utf-8", ".map": "application/json", ".ogg": "audio/ogg", ".mp3": "audio/mpeg",
	".wav":   "audio/wav",
	".woff2": "font/woff2", ".webmanifest": "application/manifest+json",
}

// incompressible reports whether files of a content type are compressed already.
func incompressible(contentType string) bool {
	for _, p := range []string{
		"image/png", "image/jpeg", "image/webp", "image/gif", "audio/ogg", "audio/mpeg", "font/woff2", "video/",
	} {
		if strings.HasPrefix(contentType, p) {
			return true
		}
	}
	return false
}

func contentType(name string) string {
	ext := strings.ToLower(path.Ext(name))
	if t := types[ext]; t != "" {
		return t
	}
	if t := mime.TypeByExtension(ext); t != "" {
		return t
	}
	return "application/octet-stream"
}

// An asset is a file that is served as it is or packed with brotli or gzip, whichever the browser
// accepts. It is packed at the first request.
type asset struct {
	contentType string
	raw         []byte
	hash        string // of raw, hexadecimal
	plain       bool   // it is never packed

	br, gz packing
}

type packing struct {
	once sync.Once
	b    []byte
}

// newAsset returns an asset. br is raw packed with brotli, or nil if that is not known.
func newAsset(contentType string, raw, br []byte) *asset {
	sum := sha256.Sum256(raw)
	a := &asset{contentType: contentType, raw: raw, hash: hex.EncodeToString(sum[:])}
	if br != nil {
		a.br.once.Do(func() { a.br.b = br })
	}
	return a
}

// brotli returns the asset packed with brotli.
func (a *asset) brotli() []byte {
	a.br.once.Do(func() {
		var out bytes.Buffer
		w := brotli.NewWriterLevel(&out, brotliLevel)
		_, _ = w.Write(a.raw) // a bytes.Buffer takes everything
		_ = w.Close()
		a.br.b = out.Bytes()
	})
	return a.br.b
}

func (a *asset) gzip() []byte {
	a.gz.once.Do(func() {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(a.raw)
		_ = w.Close()
		a.gz.b = out.Bytes()
	})
	return a.gz.b
}

// ServeHTTP implements http.Handler.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is of use here", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	body, tag := a.raw, a.hash[:24]
	if len(a.raw) > packAbove && !a.plain && !incompressible(a.contentType) {
		h.Add("Vary", "Accept-Encoding")
		switch accept := r.Header.Values("Accept-Encoding"); {
		case accepts(accept, "br"):
			h.Set("Content-Encoding", "br")
			body, tag = a.brotli(), tag+"-br"
		case accepts(accept, "gzip"):
			h.Set("Content-Encoding", "gzip")
			body, tag = a.gzip(), tag+"-gz"
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	h.Set("Cache-Control", "no-cache") // ask each time: the answer is mostly "still the same"
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// accepts reports whether the values of Accept-Encoding allow a coding (RFC 9110 §12.5.3).
func accepts(values []string, coding string) bool {
	for _, v := range values {
		for _, part := range strings.Split(v, ",") {
			name, params, _ := strings.Cut(part, ";")
			if !strings.EqualFold(strings.TrimSpace(name), coding) {
				continue
			}
			key, q, _ := strings.Cut(strings.TrimSpace(params), "=")
			return !strings.EqualFold(strings.TrimSpace(key), "q") || strings.Trim(strings.TrimSpace(q), "0.") != ""
		}
	}
	return false
}

// files serves the files of several trees; the first tree that has a name wins. A folder is served
// as its index.html. Names that begin with a dot are not served.
type files struct {
	trees []fs.FS
	log   *slog.Logger
	tail  string // of each page

	mu   sync.Mutex
	kept map[string]*asset // by hash and type
}

// ServeHTTP implements http.Handler.
func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" || strings.HasSuffix(r.URL.Path, "/") {
		name = path.Join(name, "index.html")
	}
	b, err := f.read(name)
	if err != nil {
		if !os.IsNotExist(err) {
			f.log.Warn("a file could not be served", "file", name, "error", err)
		}
		http.Error(w, "there is no "+name+" here", http.StatusNotFound)
		return
	}
	if f.tail != "" && path.Ext(name) == ".html" {
		b = append(b, f.tail...)
	}
	f.keep(contentType(name), b).ServeHTTP(w, r)
}

// read returns the file of a name from the first tree that has it.
func (f *files) read(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrNotExist
	}
	for _, part := range strings.Split(name, "/") {
		if strings.HasPrefix(part, ".") {
			return nil, fs.ErrNotExist
		}
	}
	for _, tree := range f.trees {
		file, err := tree.Open(name)
		if err != nil {
			if os.IsNotExist(err) {
				continue
			}
			return nil, err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if info.Size() > maxFile {
			return nil, fs.ErrInvalid
		}
		return io.ReadAll(io.LimitReader(file, maxFile))
	}
	return nil, fs.ErrNotExist
}

// keep returns the kept asset of these bytes, so that they are packed once. Files are read for
// every request, so that an edit shows after a reload.
func (f *files) keep(contentType string, raw []byte) *asset {
	a := newAsset(contentType, raw, nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	key := contentType + a.hash
	if kept := f.kept[key]; kept != nil {
		return kept
	}
	if f.kept == nil || len(f.kept) >= keptAssets {
		f.kept = make(map[string]*asset)
	}
	f.kept[key] = a
	return a
}

// Static serves fixed bytes, packed as the browser accepts it.
func Static(contentType string, content []byte) http.Handler {
	return newAsset(contentType, content, nil)
}
