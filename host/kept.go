package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// keptBytes is how many bytes are kept of saved moments for each reason, and of reports.
	keptBytes = 1 << 30
	// maxSaved is the same of a single one: of a room that records more in five minutes its newest
	// segments are saved.
	maxSaved = keptBytes / 4
	// savedAt is the time in the names of what is saved.
	savedAt = "20060102-150405.000"
)

// A keptFile is a file or folder that was saved.
type keptFile struct {
	path  string
	owner string // who caused it
	bytes int64
	at    time.Time
}

// makePlace removes files or folders in dir whose names end so, until another one of that many
// bytes, which an owner causes, makes no more than number of them, nor more than keptBytes. The
// oldest of the owner who has most goes first: nobody pushes out what many others have. What is
// being written meanwhile counts the next time.
func makePlace(dir, suffix string, number int, owner string, bytes int64, ownerOf func(path string) string) {
	var all []keptFile
	for _, path := range pathsIn(dir, suffix) {
		all = append(all, keptFile{path, ownerOf(path), sizeOf(path), modified(path)})
	}
	slices.SortFunc(all, func(x, y keptFile) int { return x.at.Compare(y.at) })
	for len(all) > 0 {
		count, size, total := map[string]int64{owner: 1}, map[string]int64{owner: bytes}, bytes
		for _, s := range all {
			count[s.owner]++
			size[s.owner] += s.bytes
			total += s.bytes
		}
		most := size
		if len(all) >= number {
			most = count
		} else if total <= keptBytes {
			return
		}
		first := 0
		for i, s := range all {
			if most[s.owner] > most[all[first].owner] {
				first = i
			}
		}
		_ = os.RemoveAll(all[first].path)
		all = slices.Delete(all, first, first+1)
	}
}

// sizeOf returns the bytes of a file, or of all that is in a folder.
func sizeOf(path string) (bytes int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// momentPath makes place for a moment of the room of that many bytes, and returns its name. What one
// room saves does not push out what others do.
func (a *archive) momentPath(why string, bytes int64) string {
	dir, end := filepath.Join(a.root, momentsDir), "-"+why+JournalSuffix
	makePlace(dir, end, keptMoments, a.name, bytes, func(path string) string {
		name := strings.TrimSuffix(filepath.Base(path), end)
		return name[:max(len(name)-len("-"+savedAt), 0)]
	})
	return filepath.Join(dir, a.name+"-"+time.Now().UTC().Format(savedAt)+end)
}

// newest returns the newest segments of the room that may be saved, the oldest first, and how many
// bytes they have.
func (a *archive) newest() (segments []string, bytes int64, err error) {
	all := a.segments()
	first := len(all)
	for ; first > 0; first-- {
		size := sizeOf(all[first-1])
		if bytes+size > maxSaved {
			break
		}
		bytes += size
	}
	if first == len(all) && first > 0 {
		return nil, 0, fmt.Errorf("host: the newest segment of room %s has %d bytes, at most %d are saved", a.name,
			sizeOf(all[first-1]), maxSaved)
	}
	return all[first:], bytes, nil
}
