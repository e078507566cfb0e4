package site

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"meanwhile/transport/quic"
)

// resetFile is the file in the folder of --state with the secret by which a server that was killed ends
// the connections of its last run (quic.Config.ResetKey).
const resetFile = "reset.key"

// resetKey reads the secret in the folder, or makes one there. Without a folder there is none.
func resetKey(folder string) (*[quic.ResetKeySize]byte, error) {
	if folder == "" {
		return nil, nil
	}
	name := filepath.Join(folder, resetFile)
	b, err := os.ReadFile(name)
	switch {
	case err == nil && len(b) != quic.ResetKeySize:
		return nil, fmt.Errorf("--state: %s has %d bytes instead of %d; delete it", name, len(b), quic.ResetKeySize)
	case err == nil:
		return (*[quic.ResetKeySize]byte)(b), nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--state: %w", err)
	}
	key := new([quic.ResetKeySize]byte)
	_, _ = rand.Read(key[:]) // it never fails
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	work := name + ".new" // whole or not at all
	if err := os.WriteFile(work, key[:], 0o600); err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	if err := os.Rename(work, name); err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	return key, nil
}
