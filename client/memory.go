package client

import "slices"

// memory keeps backstops in the ledger. What an answer keeps is staged and goes
// to the disk in the record that spends for it: neither can be there without
// the other.
type memory struct {
	ledger   *Ledger
	secret   secret
	stands   []byte // the key of the one that is said, whatever the value; nil: the value's own
	used     []byte // the key of the one that was said
	recalled bool
	staged   []keptBackstop
}

// key returns an HMAC of a backstop's key, which the ledger has in its place: the key tells the value to
// whoever tries all of them.
func (m *memory) key(k [32]byte) [32]byte { return m.secret.derive("confetti/backstop/v1", k[:]) }

// Recall implements question.Memory.
func (m *memory) Recall(k [32]byte) ([]byte, bool) {
	key := m.key(k)
	if m.stands != nil {
		key = [32]byte(m.stands)
	}
	kept, ok := m.ledger.backstops[key]
	m.used, m.recalled = key[:], m.recalled || ok
	return slices.Clone(kept), ok
}

// Keep implements question.Memory.
func (m *memory) Keep(k [32]byte, backstop []byte) error {
	key := m.key(k)
	m.staged = append(m.staged, keptBackstop{Key: key[:], Kept: slices.Clone(backstop)})
	return nil
}

// reused reports that everything was recalled and nothing drawn for good.
func (m *memory) reused() bool { return m.recalled && len(m.staged) == 0 }
