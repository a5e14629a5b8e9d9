package tally

import (
	"encoding/binary"
	"errors"
)

// MessageBytes is the length of the body of a message for a Counts: channel (4 bytes,
// big endian) and symbol.
const MessageBytes = 5

// Messages are the bodies of a report's messages.
type Messages struct {
	Bodies [][]byte

	memory []byte // of the bodies; once one has outgrown it, of those since
}

// NewMessages expects so many messages.
func NewMessages(expected int) *Messages {
	return &Messages{Bodies: make([][]byte, 0, expected), memory: make([]byte, 0, MessageBytes*expected)}
}

// Say adds a message.
func (m *Messages) Say(channel uint32, symbol uint8) {
	at := len(m.memory)
	m.memory = append(binary.BigEndian.AppendUint32(m.memory, channel), symbol)
	m.Bodies = append(m.Bodies, m.memory[at:len(m.memory):len(m.memory)])
}

var (
	errMessage = errors.New("tally: a message is not a channel and a symbol")
	errOutside = errors.New("tally: a message names a channel or symbol that the plan has not")
)

// ParseMessage reads a body, which zeros may fill up.
func ParseMessage(body []byte) (channel uint32, symbol uint8, err error) {
	if len(body) < MessageBytes {
		return 0, 0, errMessage
	}
	for _, b := range body[MessageBytes:] {
		if b != 0 {
			return 0, 0, errMessage
		}
	}
	return binary.BigEndian.Uint32(body), body[4], nil
}

// AddMessage counts a message by its body.
func (c *Counts) AddMessage(body []byte) error {
	channel, symbol, err := ParseMessage(body)
	if err != nil {
		return err
	}
	if !c.Has(int(channel), int(symbol)) {
		return errOutside
	}
	c.Add(int(channel), int(symbol))
	return nil
}
