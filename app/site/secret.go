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

// Files of secrets in the folder of --state.
const (
	// resetFile is the one by which a server that was killed ends the connections of its last run
	// (quic.Config.ResetKey).
	resetFile = "reset.key"
	// loginKeyFile is the seed of the key that the server signs connect tokens with.
	loginKeyFile = "login.key"
)

// resetKey returns the secret of resetFile. Without a folder there is none.
func resetKey(folder string) (*[quic.ResetKeySize]byte, error) {
	if folder == "" {
		return nil, nil
	}
	b, err := secret(folder, resetFile, quic.ResetKeySize)
	if err != nil {
		return nil, err
	}
	return (*[quic.ResetKeySize]byte)(b), nil
}

// secret reads a secret of so many bytes in the folder, or makes one there. Without a folder it is
// new each time.
func secret(folder, file string, size int) ([]byte, error) {
	made := make([]byte, size)
	_, _ = rand.Read(made) // it never fails
	if folder == "" {
		return made, nil
	}
	name := filepath.Join(folder, file)
	b, err := os.ReadFile(name)
	switch {
	case err == nil && len(b) != size:
		return nil, fmt.Errorf("--state: %s has %d bytes instead of %d; delete it", name, len(b), size)
	case err == nil:
		return b, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--state: %w", err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	work := name + ".new" // whole or not at all
	if err := os.WriteFile(work, made, 0o600); err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	if err := os.Rename(work, name); err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	return made, nil
}
