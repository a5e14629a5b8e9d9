// Package fragment tears a report into messages of one length, one for each
// randomized bit, and fills them up with dummies to a constant number. Sealed
// on their own and mixed, they can no longer be linked (ESA, Algorithm 1).
package fragment

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Message is one fragment: a symbol for a channel. The channel travels inside
// the innermost seal; only the analyzer learns it.
type Message struct {
	Channel uint32
	Symbol  uint8
}

// Payload layout: kind, channel (big endian), symbol, zeros to the plan's length.
const (
	kindDummy   = 0
	kindMessage = 1

	// MinPayload is the shortest payload that holds a message, in bytes.
	MinPayload = 6
)

// Pack encodes messages as exactly count payloads of size bytes each, fills up
// with dummies, and permutes: a randomizer may emit in an order that depends on
// the data, and the first hop sees the order that envelopes come in.
//
// How many payloads leave never depends on the data. A report with more than
// count messages loses a uniformly chosen rest; that changes the law of the
// protocol only when it happens, and its probability is part of delta.
func Pack(r *rand.Rand, messages []Message, count, size int) [][]byte {
	if size < MinPayload {
		panic(fmt.Sprintf("fragment: payloads of %d bytes cannot hold a message of %d", size, MinPayload))
	}
	all := make([]byte, max(count, len(messages))*size)
	payloads := make([][]byte, max(count, len(messages)))
	for i := range payloads {
		p := all[i*size : (i+1)*size : (i+1)*size]
		if i < len(messages) {
			p[0] = kindMessage
			binary.BigEndian.PutUint32(p[1:], messages[i].Channel)
			p[5] = messages[i].Symbol
		}
		payloads[i] = p
	}
	r.Shuffle(len(payloads), func(i, j int) { payloads[i], payloads[j] = payloads[j], payloads[i] })
	return payloads[:count]
}

// Unpack decodes one payload. A dummy has no message. Anything that Pack does
// not produce is an error, which never holds the payload.
func Unpack(payload []byte) (m Message, dummy bool, err error) {
	if len(payload) < MinPayload {
		return m, false, fmt.Errorf("fragment: payload of %d bytes is shorter than a message (%d)", len(payload), MinPayload)
	}
	m = Message{binary.BigEndian.Uint32(payload[1:]), payload[5]}
	rest := payload[MinPayload:]
	for _, b := range rest {
		if b != 0 {
			return Message{}, false, fmt.Errorf("fragment: padding is not zero")
		}
	}
	switch {
	case payload[0] == kindMessage:
		return m, false, nil
	case payload[0] == kindDummy && m == Message{}:
		return m, true, nil
	}
	return Message{}, false, fmt.Errorf("fragment: not a message of this version")
}
