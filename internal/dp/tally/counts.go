package tally

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Counts is a table of channels by symbols: how often each symbol came in each
// channel. A channel is one coordinate of one repetition, a symbol what a message may
// say there.
type Counts struct {
	Channels int
	Symbols  int
	N        []uint64 // channel-major: N[channel*Symbols+symbol]
}

// NewCounts returns the empty table of the given shape, both positive.
func NewCounts(channels, symbols int) *Counts {
	if channels <= 0 || symbols <= 0 {
		panic(fmt.Sprintf("tally: no table has %d channels and %d symbols", channels, symbols))
	}
	return &Counts{Channels: channels, Symbols: symbols, N: make([]uint64, channels*symbols)}
}

// Add counts one message (Messages).
func (c *Counts) Add(message []byte) error {
	channel, symbol, err := ParseMessage(message)
	if err != nil {
		return err
	}
	if uint64(channel) >= uint64(c.Channels) || int(symbol) >= c.Symbols {
		return errStranger
	}
	c.N[int(channel)*c.Symbols+int(symbol)]++
	return nil
}

// Channel returns the row of counts of one channel, indexed by symbol; it shares
// memory with the tally. It panics outside the table.
func (c *Counts) Channel(channel int) []uint64 {
	if uint(channel) >= uint(c.Channels) {
		panic("tally: channel outside the table")
	}
	at := channel * c.Symbols
	return c.N[at : at+c.Symbols : at+c.Symbols]
}

// Merge adds another table of the same shape whose sums fit their integers.
func (c *Counts) Merge(t Tally) error {
	other, ok := t.(*Counts)
	if !ok || c.Channels != other.Channels || c.Symbols != other.Symbols || len(c.N) != len(other.N) {
		return unlike(c, t)
	}
	for i, n := range other.N {
		if _, carry := bits.Add64(c.N[i], n, 0); carry != 0 {
			return errOverflow
		}
	}
	for i, n := range other.N {
		c.N[i] += n
	}
	return nil
}

// String says the shape, and no count.
func (c *Counts) String() string {
	return fmt.Sprintf("%d channels of %d symbols", c.Channels, c.Symbols)
}

// MarshalBinary writes each count, in the order of N, as an unsigned varint: most
// are small, and take one byte or two. The plan knows the shape.
func (c *Counts) MarshalBinary() ([]byte, error) {
	size := 0
	for _, n := range c.N {
		size += varintSize(n)
	}
	b := make([]byte, 0, size)
	for _, n := range c.N {
		b = binary.AppendUvarint(b, n)
	}
	return b, nil
}

func varintSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// UnmarshalBinary reads a table of this one's shape, each count in its shortest
// form, and nothing more.
func (c *Counts) UnmarshalBinary(data []byte) error {
	for i := range c.N {
		n, size := binary.Uvarint(data)
		if size <= 0 || size > 1 && data[size-1] == 0 {
			return fmt.Errorf("%w (count %d)", errEncoding, i)
		}
		c.N[i], data = n, data[size:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%w (%d bytes too many)", errEncoding, len(data))
	}
	return nil
}
