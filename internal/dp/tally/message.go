package tally

import "encoding/binary"

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

// ParseMessage reads a body, which zeros may fill up.
func ParseMessage(body []byte) (channel uint32, symbol uint8, err error) {
	if body, err = unpadded(body, MessageBytes); err != nil {
		return 0, 0, err
	}
	return binary.BigEndian.Uint32(body), body[4], nil
}

// unpadded returns a message of so many bytes, without the zeros that fill it up.
func unpadded(body []byte, size int) ([]byte, error) {
	if len(body) < size {
		return nil, errStranger
	}
	for _, b := range body[size:] {
		if b != 0 {
			return nil, errStranger
		}
	}
	return body[:size], nil
}
