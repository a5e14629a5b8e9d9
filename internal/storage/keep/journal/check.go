package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// check is what NAME.check says of a shelf: how far its chain had come, so that one that is
// shorter is found, what no longer can happen to it, and what was set aside.
type check struct {
	Turn   uint64          `json:"turn"` // of two slots the one with the higher turn holds
	End    hashchain.Point `json:"end"`
	Rows   uint64          `json:"rows"` // in all groups up to End, those that are lost included
	Sealed bool            `json:"sealed,omitempty"`

	// Updated says that an Update has put or deleted a row: nothing can be set aside, since what
	// stood there before would come back.
	Updated bool `json:"updated,omitempty"`

	Aside []hashchain.Gap `json:"aside,omitempty"`
	Lost  uint64          `json:"lost,omitempty"` // rows that were in groups of Aside
}

// A check is written over the older one of two slots, so that a write that is torn leaves
// the other, and a full disk has room for it.
const (
	slotSize  = 4096
	checkSize = 2 * slotSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// slot writes a check as a line with a checksum that fills a slot.
func (c check) slot() ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if len(text) > slotSize-10 {
		return nil, errors.New("journal: more was set aside than a check can say")
	}
	text = append(text, bytes.Repeat([]byte(" "), slotSize-9-len(text))...)
	return fmt.Appendf(text, "%08x\n", crc32.Checksum(text, castagnoli)), nil
}

// parseSlot reads what slot wrote, and nothing else.
func parseSlot(b []byte) (c check, ok bool) {
	if len(b) != slotSize || json.Unmarshal(bytes.TrimRight(b[:slotSize-9], " "), &c) != nil {
		return check{}, false
	}
	again, err := c.slot()
	if err != nil || !bytes.Equal(again, b) {
		return check{}, false
	}
	return c, true
}

// covers reports whether a gap was set aside.
func (c *check) covers(g hashchain.Gap) bool {
	for _, a := range c.Aside {
		if a.From <= g.From && g.To <= a.To {
			return true
		}
	}
	return false
}

// take takes note of a row.
func (c *check) take(o op) { c.Updated = c.Updated || o.t != own && o.kind != inserted }

// count takes note of a group of n rows that says how many were before it: more than there
// are where groups were set aside.
func (c *check) count(before, n uint64) error {
	if before < c.Rows || before > c.Rows && len(c.Aside) == 0 {
		return fmt.Errorf("%w: %d rows stand before a group that says %d", keep.ErrDamaged, c.Rows, before)
	}
	c.Lost += before - c.Rows
	c.Rows = before + n
	return nil
}

// checkFile is a file NAME.check.
type checkFile struct {
	mu   sync.Mutex // held by whoever writes
	file hashchain.File
	turn uint64
	next int64 // slot
}

// newCheck returns the bytes of the check of a shelf without groups.
func newCheck() []byte {
	b, err := check{}.slot()
	if err != nil {
		panic("journal: " + err.Error()) // it is short
	}
	return append(b, b...)
}

// openCheck reads the check of a shelf. ErrDamaged: neither slot says anything.
func openCheck(d disk, name string) (*checkFile, check, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, check{}, err
	}
	b := make([]byte, checkSize)
	n, err := f.ReadAt(b, 0)
	if n < len(b) && !ended(err) {
		f.Close()
		return nil, check{}, err
	}
	b = b[:n]
	c := &checkFile{file: f}
	var best check
	found := false
	for i := range int64(2) {
		s, ok := parseSlot(b[min(len(b), int(i)*slotSize):min(len(b), int(i+1)*slotSize)])
		if ok && (!found || s.Turn > best.Turn) {
			best, found = s, true
			c.turn, c.next = s.Turn, 1-i
		}
	}
	if !found {
		return c, check{}, fmt.Errorf("%w: %s does not say how far the shelf had come", keep.ErrDamaged, f.Name())
	}
	return c, best, nil
}

// save writes a check down, on disk before it returns. now is asked when nobody else writes.
func (c *checkFile) save(now func() check) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil // it is closed
	}
	next := now()
	next.Turn = c.turn + 1
	b, err := next.slot()
	if err != nil {
		return err
	}
	if _, err := c.file.WriteAt(b, c.next*slotSize); err != nil {
		return err
	}
	if err := c.file.Sync(); err != nil {
		return err
	}
	c.turn, c.next = next.Turn, 1-c.next
	return nil
}

func (c *checkFile) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	c.file = nil
	return err
}
