package transport

import (
	"encoding/binary"
	"fmt"
	"io"
)

// frameHeader is the size in bytes of the length before each message on a stream.
const frameHeader = 4

// AppendFrame appends a message as it goes on a stream: its length, a little-endian uint32, and it.
func AppendFrame(b, message []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(message)))
	return append(b, message...)
}

// ReadFrame reads the next message from a stream. A message longer than limit bytes is an error
// that wraps ErrTooLarge and is found before anything is allocated. io.EOF means that the stream
// ended between messages, io.ErrUnexpectedEOF inside one.
func ReadFrame(r io.Reader, limit func() int) ([]byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	// The limit is asked for now, not before the wait: it may have changed meanwhile.
	n, most := binary.LittleEndian.Uint32(header[:]), limit()
	if uint64(n) > uint64(most) {
		return nil, fmt.Errorf("%w: a frame of %d bytes, over the bound of %d", ErrTooLarge, n, most)
	}
	message := make([]byte, n)
	if _, err := io.ReadFull(r, message); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return message, nil
}
