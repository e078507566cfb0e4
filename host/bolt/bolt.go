// Package bolt is a host.Store in one file, for a server that needs no database: a B+tree that is
// written with fsync, so what was saved is there after a crash of the program or the machine.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
	bboltErrors "go.etcd.io/bbolt/errors"
)

// lockTimeout is how long Open waits for another process to let go of the file.
const lockTimeout = time.Second

// bucket holds the records.
var bucket = []byte("records")

// A Store is an open file. Safe for concurrent use.
type Store struct{ db *bbolt.DB }

// Open opens the file at path, or makes it. It fails if another process has it open. The caller must
// Close the Store.
func Open(path string) (*Store, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout})
	if errors.Is(err, bboltErrors.ErrTimeout) {
		return nil, fmt.Errorf("bolt: another program has %s open", path)
	}
	if err != nil {
		return nil, fmt.Errorf("bolt: %s: %w", path, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("bolt: %s: %w", path, err)
	}
	return &Store{db}, nil
}

// Load returns the record of a key, nil if there is none. It does not wait, so ctx is not looked at.
func (s *Store) Load(_ context.Context, key string) (record []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		if v := tx.Bucket(bucket).Get([]byte(key)); v != nil {
			record = append([]byte{}, v...) // v is valid only until the transaction ends
		}
		return nil
	})
	return record, err
}

// Save stores all records, or none if it fails. It returns once they are on the disk; ctx is not
// looked at, as nothing ends a write of a file.
func (s *Store) Save(_ context.Context, records map[string][]byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		for key, record := range records {
			if err := b.Put([]byte(key), record); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close waits for transactions and closes the file.
func (s *Store) Close() error { return s.db.Close() }
