package transport

import (
	"sync"

	"meanwhile/netcode/wire"
)

// A mailbox keeps the newest datagrams for a sender that may be blocked. Its buffers go round, so a
// steady flow allocates nothing.
type mailbox struct {
	mu    sync.Mutex
	slots [Mailbox][]byte // slots[first] is the oldest of n
	first int
	n     int
	wake  chan struct{} // holds a token when there may be something to take

	dropped [DropReports]wire.Seq // a ring: dropped[from] is the oldest of drops
	from    int
	drops   int
	lost    uint64 // reports that were displaced
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// put copies b in and reports whether an older datagram had to go.
func (m *mailbox) put(b []byte) (displaced bool) {
	m.mu.Lock()
	if m.n == Mailbox {
		m.report(wire.SeqOf(m.slots[m.first]))
		m.first, m.n = (m.first+1)%Mailbox, m.n-1
		displaced = true
	}
	at := (m.first + m.n) % Mailbox
	m.slots[at] = append(m.slots[at][:0], b...)
	m.n++
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return displaced
}

// take removes the oldest datagram and returns it in place of buf, which the mailbox keeps.
func (m *mailbox) take(buf []byte) (b []byte, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.n == 0 {
		return buf, false
	}
	b, m.slots[m.first] = m.slots[m.first], buf
	m.first, m.n = (m.first+1)%Mailbox, m.n-1
	return b, true
}

// refuse notes a datagram that was dropped without having been in the mailbox.
func (m *mailbox) refuse(s wire.Seq) {
	m.mu.Lock()
	m.report(s)
	m.mu.Unlock()
}

// report notes s for reports. m.mu is held.
func (m *mailbox) report(s wire.Seq) {
	if m.drops == DropReports {
		m.from, m.drops, m.lost = (m.from+1)%DropReports, m.drops-1, m.lost+1
	}
	m.dropped[(m.from+m.drops)%DropReports] = s
	m.drops++
}

func (m *mailbox) reports(seqs []wire.Seq) []wire.Seq {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ; m.drops > 0; m.drops-- {
		seqs = append(seqs, m.dropped[m.from])
		m.from = (m.from + 1) % DropReports
	}
	return seqs
}

func (m *mailbox) unreported() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}
