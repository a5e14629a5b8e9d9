package tally

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
)

// Rows is the multiset of the messages themselves, all of one length: of records, or
// of a sign and the seed of a direction, which say nothing in sum. Who reads it sees
// them in ascending order, whatever order they came in.
type Rows struct {
	size   int    // of a message, in bytes
	all    []byte // one after the other
	sorted bool
}

// NewRows returns the empty multiset of messages of so many bytes, at least one.
func NewRows(size int) *Rows {
	if size <= 0 {
		panic(fmt.Sprintf("tally: no messages have %d bytes", size))
	}
	return &Rows{size: size, sorted: true}
}

// Len returns how many messages there are.
func (r *Rows) Len() int { return len(r.all) / r.size }

// All goes through the messages in ascending order. They share memory with the tally.
func (r *Rows) All() iter.Seq[[]byte] {
	r.sort()
	return slices.Chunk(r.all, r.size)
}

// Add keeps a copy of one message.
func (r *Rows) Add(message []byte) error {
	message, err := unpadded(message, r.size)
	if err != nil {
		return err
	}
	r.all, r.sorted = append(r.all, message...), false
	return nil
}

// Merge adds the messages of another multiset of the same length.
func (r *Rows) Merge(t Tally) error {
	other, ok := t.(*Rows)
	if !ok || r.size != other.size {
		return unlike(r, t)
	}
	r.all, r.sorted = append(r.all, other.all...), false
	return nil
}

func (r *Rows) sort() {
	if r.sorted {
		return
	}
	rows := slices.SortedFunc(slices.Chunk(r.all, r.size), bytes.Compare)
	r.all, r.sorted = bytes.Join(rows, nil), true
}

// String says the length, and neither number nor content.
func (r *Rows) String() string { return fmt.Sprintf("messages of %d bytes", r.size) }

// MarshalBinary writes how many messages there are, as an unsigned varint, and the
// messages in ascending order.
func (r *Rows) MarshalBinary() ([]byte, error) {
	r.sort()
	return append(binary.AppendUvarint(nil, uint64(r.Len())), r.all...), nil
}

// UnmarshalBinary reads messages of this one's length. It allocates no more than they
// take.
func (r *Rows) UnmarshalBinary(data []byte) error {
	n, size := binary.Uvarint(data)
	if size <= 0 || size > 1 && data[size-1] == 0 {
		return errEncoding
	}
	rest := data[size:]
	if len(rest)%r.size != 0 || uint64(len(rest)/r.size) != n {
		return fmt.Errorf("%w (%d bytes of messages where %d are stated)", errEncoding, len(rest), n)
	}
	if !slices.IsSortedFunc(slices.Collect(slices.Chunk(rest, r.size)), bytes.Compare) {
		return fmt.Errorf("%w (out of order)", errEncoding)
	}
	r.all, r.sorted = bytes.Clone(rest), true
	return nil
}
