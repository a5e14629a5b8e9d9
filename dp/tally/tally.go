// Package tally holds what the analyzer keeps of the messages it has opened:
// how often each symbol came in each channel. Tallies add up, so that parts of a
// batch can be counted apart.
package tally

import (
	"errors"
	"fmt"
	"math/bits"
)

// Counts is a table of channels by symbols. A channel is one coordinate of one
// repetition, a symbol what a message may say there.
type Counts struct {
	Respondents int // distinct respondents whose whole contribution was accepted
	Smallest    int // whole contributions that the smallest batch among these holds; 0 where that is not known
	Channels    int
	Symbols     int
	N           []uint64 // channel-major: N[channel*Symbols+symbol]
}

// New is the empty tally of the given shape, both positive.
func New(channels, symbols int) *Counts {
	if channels <= 0 || symbols <= 0 {
		panic(fmt.Sprintf("tally: no tally has %d channels and %d symbols", channels, symbols))
	}
	return &Counts{Channels: channels, Symbols: symbols, N: make([]uint64, channels*symbols)}
}

// Has reports whether (channel, symbol) is in the table. What a message from
// outside says must be asked first, since Add takes it for granted.
func (c *Counts) Has(channel, symbol int) bool {
	return uint(channel) < uint(c.Channels) && uint(symbol) < uint(c.Symbols)
}

// Add counts one message. It panics outside the table.
func (c *Counts) Add(channel, symbol int) {
	c.N[c.index(channel, symbol)]++
}

// At is the count of symbol in channel.
func (c *Counts) At(channel, symbol int) uint64 {
	return c.N[c.index(channel, symbol)]
}

// Channel is the row of counts of one channel, indexed by symbol; it shares
// memory with the tally.
func (c *Counts) Channel(channel int) []uint64 {
	at := c.index(channel, 0)
	return c.N[at : at+c.Symbols : at+c.Symbols]
}

func (c *Counts) index(channel, symbol int) int {
	if !c.Has(channel, symbol) {
		panic("tally: channel or symbol outside the table")
	}
	return channel*c.Symbols + symbol
}

// Merge adds other to c. It refuses, and leaves c as it was, if the shapes differ
// or a sum does not fit its integer. The respondents of the two must be distinct.
func (c *Counts) Merge(other *Counts) error {
	if c.Channels != other.Channels || c.Symbols != other.Symbols || len(c.N) != len(other.N) {
		return fmt.Errorf("tally: cannot merge %d channels of %d symbols with %d of %d: count both under one plan",
			c.Channels, c.Symbols, other.Channels, other.Symbols)
	}
	if c.Respondents < 0 || other.Respondents < 0 || c.Respondents+other.Respondents < 0 {
		return errOverflow
	}
	for i, n := range other.N {
		if _, carry := bits.Add64(c.N[i], n, 0); carry != 0 {
			return errOverflow
		}
	}
	for i, n := range other.N {
		c.N[i] += n
	}
	switch {
	case c.Respondents == 0:
		c.Smallest = other.Smallest
	case other.Respondents > 0: // unknown stays unknown
		c.Smallest = min(c.Smallest, other.Smallest)
	}
	c.Respondents += other.Respondents
	return nil
}

var errOverflow = errors.New("tally: a merged count exceeds its integer: one of the tallies is damaged")
