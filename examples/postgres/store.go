// Package postgres keeps what players gain in a PostgreSQL database, through database/sql: a store
// to copy into a game of one's own, where several servers share players or other programs read what
// is stored. It is a module of its own, so that Meanwhile needs no driver.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// schema is the table; records are JSON, so SQL can look into them:
//
//	SELECT key, record->>'Frags' AS frags FROM meanwhile_records WHERE key LIKE 'arena/account/%'
const schema = `CREATE TABLE IF NOT EXISTS meanwhile_records (
	key    text PRIMARY KEY,
	record jsonb NOT NULL,
	saved  timestamptz NOT NULL DEFAULT now()
)`

const (
	load = `SELECT record FROM meanwhile_records WHERE key = $1`
	save = `INSERT INTO meanwhile_records (key, record) VALUES ($1, $2)
		ON CONFLICT (key) DO UPDATE SET record = excluded.record, saved = now()`
)

// A Store is a host.Store in a database. Safe for concurrent use.
type Store struct{ db *sql.DB }

// New makes the table if there is none, and returns the store.
func New(ctx context.Context, db *sql.DB) (*Store, error) {
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return &Store{db}, nil
}

// Load returns the record of a key, nil if there is none.
func (s *Store) Load(ctx context.Context, key string) (record []byte, err error) {
	err = s.db.QueryRowContext(ctx, load, key).Scan(&record)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return record, err
}

// Save stores all records in one transaction. Servers that save at the same time lock rows in the
// same order, so none waits for another in a circle.
func (s *Store) Save(ctx context.Context, records map[string][]byte) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	for _, key := range slices.Sorted(maps.Keys(records)) {
		if _, err := tx.ExecContext(ctx, save, key, string(records[key])); err != nil {
			return fmt.Errorf("postgres: %s: %w", key, err)
		}
	}
	return tx.Commit()
}
