package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"meanwhile/host/bolt"
)

// recordsFile is the file in the folder of --state that has what the rules save.
const recordsFile = "records.db"

// journalDir is the folder in it where rooms are recorded.
const journalDir = "journal"

// lockFile is an empty store in that folder which this program has open, so that no second one
// restores the rooms that this one runs, and removes them when it ends.
const lockFile = "lock"

// openStore opens the store of records in the folder of --state, where the rules save something and
// the program brings no store of its own.
func (s *Site) openStore() error {
	cfg := &s.cfg.Host
	if s.cfg.Door.KeepRooms {
		if s.cfg.Door.State == "" {
			return errors.New("--keep-rooms needs --state DIR, a folder to record rooms in")
		}
		cfg.Journal = filepath.Join(s.cfg.Door.State, journalDir)
		if err := os.MkdirAll(cfg.Journal, 0o700); err != nil {
			return fmt.Errorf("site: --keep-rooms: %w", err)
		}
		var err error
		if s.lock, err = bolt.Open(filepath.Join(cfg.Journal, lockFile)); err != nil {
			return fmt.Errorf("site: --keep-rooms: %w", err)
		}
	}
	if cfg.Rules == nil || cfg.Store != nil || cfg.Rules.Saved(false) == nil && cfg.Rules.Saved(true) == nil {
		return nil
	}
	if s.cfg.Door.State == "" {
		s.log.Info("what players gain ends with this program: --state names no folder for it")
		return nil
	}
	if err := os.MkdirAll(s.cfg.Door.State, 0o700); err != nil {
		return fmt.Errorf("site: --state: %w", err)
	}
	var err error
	if s.store, err = bolt.Open(filepath.Join(s.cfg.Door.State, recordsFile)); err != nil {
		return fmt.Errorf("site: --state: %w", err)
	}
	cfg.Store = s.store
	return nil
}

// closeStore closes what openStore opened, once the host has ended.
func (s *Site) closeStore() {
	if s.store != nil {
		_ = s.store.Close() // every save has ended, and was written
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
}
