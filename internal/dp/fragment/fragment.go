// Package fragment tears a report into payloads of one length and fills them up with dummies to a constant number
// (ESA, Algorithm 1). Used by client to tear, and by party/analyzer to read a payload.
//
// Sealed on their own and mixed, payloads can no longer be linked. What a message says is the business of the kind
// of question: here it is a body of some bytes.
package fragment

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Payload layout: kind, body, zeros to the plan's length. A dummy is all zeros.
const (
	kindDummy   = 0
	kindMessage = 1
)

// Size returns the length of the shortest payload that holds a body, both in bytes.
func Size(body int) int { return 1 + body }

// Pack encodes the bodies of messages as exactly count payloads of size bytes each,
// fills up with dummies, and permutes: a randomizer may emit in an order that
// depends on the data, and the first hop sees the order that envelopes come in.
//
// How many payloads leave never depends on the data. A report with more than
// count messages loses a uniformly chosen rest; that changes the law of the
// protocol only when it happens, and its probability is part of delta.
func Pack(r *rand.Rand, bodies [][]byte, count, size int) [][]byte {
	all := make([]byte, max(count, len(bodies))*size)
	payloads := make([][]byte, max(count, len(bodies)))
	for i := range payloads {
		payloads[i] = all[i*size : (i+1)*size : (i+1)*size]
		if i < len(bodies) {
			Put(payloads[i], bodies[i])
		}
	}
	r.Shuffle(len(payloads), func(i, j int) { payloads[i], payloads[j] = payloads[j], payloads[i] })
	return payloads[:count]
}

// Put makes a dummy the payload of a message with that body.
func Put(payload, body []byte) {
	if len(payload) < Size(len(body)) {
		panic(fmt.Sprintf("fragment: payloads of %d bytes cannot hold a message of %d", len(payload), len(body)))
	}
	payload[0] = kindMessage
	copy(payload[1:], body)
}

var errPayload = errors.New("fragment: neither a message nor a dummy of this version")

// Unpack returns the body in a payload, with the zeros that fill it up: who reads a body
// knows how long it is, and refuses others behind it. It shares memory with the
// payload and is nil for a dummy. Any other payload is an error, which never holds it.
func Unpack(payload []byte) (body []byte, err error) {
	if len(payload) == 0 {
		return nil, errPayload
	}
	switch payload[0] {
	case kindMessage:
		return payload[1:], nil
	case kindDummy:
		for _, b := range payload {
			if b != 0 {
				return nil, errPayload
			}
		}
		return nil, nil
	}
	return nil, errPayload
}

// Count adds what one opened payload says to a tally. Dummies are dropped here, where they
// are first seen for what they are.
func Count(t interface{ Add(body []byte) error }, payload []byte) error {
	body, err := Unpack(payload)
	if err != nil || body == nil {
		return err
	}
	return t.Add(body)
}
