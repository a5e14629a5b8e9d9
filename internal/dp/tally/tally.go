// Package tally holds what the analyzer keeps of opened messages, in an order that does not matter: parts of a batch
// are counted apart and merged. Used by question, party/analyzer and internal/analyzer/parts.
package tally

import (
	"encoding"
	"errors"
	"fmt"
)

// Tally is a sum of messages. Each has one encoding: equal tallies have equal bytes,
// and UnmarshalBinary, called on an empty tally of the same plan, refuses all others.
type Tally interface {
	// Add counts one message, which zeros may fill up, or refuses one that no device of
	// the plan sends. It keeps no reference to the message, and its error says nothing
	// of it.
	Add(message []byte) error
	// Merge adds another tally of the same plan. With an error it has added nothing.
	Merge(other Tally) error
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Crowd is what came of one crowd.
type Crowd struct {
	Tally       Tally // nil: no batch came, or the crowd is withheld
	Respondents int   // distinct respondents whose whole contribution was accepted
	Smallest    int   // whole contributions that the smallest batch holds; 0 where that is not known
}

// Merge adds another batch of the crowd, whose respondents must be others. It takes
// over the tally of the first. With an error it has added nothing.
func (c *Crowd) Merge(other Crowd) error {
	switch {
	case other.Tally == nil:
		return nil
	case other.Respondents < 0 || c.Respondents+other.Respondents < 0:
		return errOverflow
	case c.Tally == nil:
		*c = other
		return nil
	}
	if err := c.Tally.Merge(other.Tally); err != nil {
		return err
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

var (
	errOverflow = errors.New("tally: a merged count exceeds its integer: one of the tallies is damaged")
	errStranger = errors.New("tally: a message is not one that a device of this plan sends")
	errEncoding = errors.New("tally: not the encoding of a tally of this plan")
)

// unlike refuses to merge what cannot have been counted under one plan.
func unlike(a, b Tally) error {
	return fmt.Errorf("tally: cannot merge %v with %v: count both under one plan", a, b)
}
