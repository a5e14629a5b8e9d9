package client

import (
	"math/bits"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// spokenPart is what the journal has of a part: the body of each message, once, and what it
// takes to pack them again as they were drawn. It has one of four: Bodies and Dummies, a
// Vector, or the Payloads or Messages of an earlier version; none once they are forgotten.
type spokenPart struct {
	Instance int    `json:"instance"`
	Size     int    `json:"size,omitempty"`     // bytes of a payload
	Body     int    `json:"body,omitempty"`     // bytes of a body: the zeros behind it are left out
	Bodies   []byte `json:"bodies,omitempty"`   // one after the other, in the order of the payloads
	Dummies  []byte `json:"dummies,omitempty"`  // bit i%8 of byte i/8: payload i is a dummy; none where there are none
	Vector   []byte `json:"vector,omitempty"`   // of an answer that is summed: see secret.shut
	Payloads []byte `json:"payloads,omitempty"` // of the ledger's version 2: with their zeros and dummies
	Messages []byte `json:"messages,omitempty"` // of its version 1: bodies alone, and not in the order of the payloads
}

// spoken returns the record of a part.
func spoken(p Packed) spokenPart {
	s := spokenPart{Instance: p.Instance, Size: len(p.Payloads[0]), Body: p.Body}
	dummies, any := make([]byte, (len(p.Payloads)+7)/8), false
	for i, payload := range p.Payloads {
		body, err := fragment.Unpack(payload)
		if err != nil {
			panic(err.Error()) // it was packed a moment ago
		}
		if body == nil {
			dummies[i/8] |= 1 << (i % 8)
			any = true
			continue
		}
		s.Bodies = append(s.Bodies, body[:s.Body]...)
	}
	if any {
		s.Dummies = dummies
	}
	if s.Bodies == nil {
		s.Body = 0
	}
	return s
}

// count returns the number of payloads; -1 where the numbers of the part do not agree.
func (s spokenPart) count() int {
	n := 0
	for _, b := range s.Dummies {
		n += bits.OnesCount8(b)
	}
	if s.Body > 0 {
		n += len(s.Bodies) / s.Body
	}
	if n == 0 {
		if s.Size != 0 || s.Body != 0 || s.Bodies != nil || s.Dummies != nil {
			return -1
		}
		return 0
	}
	if s.Body < 0 || s.Size < fragment.Size(s.Body) || s.Size > plan.MaxPayload || (s.Body == 0) != (len(s.Bodies) == 0) || s.Body > 0 && len(s.Bodies)%s.Body != 0 {
		return -1
	}
	if s.Dummies != nil && (len(s.Dummies) != (n+7)/8 || bits.Len8(s.Dummies[len(s.Dummies)-1]) > (n-1)%8+1) {
		return -1
	}
	return n
}

// said returns the bodies of the messages.
func (s spokenPart) said() [][]byte {
	bodies, each := s.Bodies, max(s.Body, 1)
	if s.Messages != nil {
		bodies, each = s.Messages, tally.MessageBytes
	}
	if len(bodies) == 0 {
		return nil
	}
	return slices.AppendSeq(make([][]byte, 0, len(bodies)/each), slices.Chunk(bodies, each))
}

// payloads packs the bodies again as they were packed; nil where their order is not known.
func (s spokenPart) payloads() [][]byte {
	n := max(0, s.count())
	all, bodies := make([][]byte, n), s.said()
	if n == 0 {
		return nil
	}
	for i := range all {
		all[i] = make([]byte, s.Size)
		if s.Dummies == nil || s.Dummies[i/8]>>(i%8)&1 == 0 {
			fragment.Put(all[i], bodies[0])
			bodies = bodies[1:]
		}
	}
	return all
}

// current returns the part in the form of this version; ok is false where it makes no sense.
func (s spokenPart) current() (c spokenPart, ok bool) {
	kinds := 0
	for _, has := range []bool{s.Size > 0 && s.Payloads == nil, s.Vector != nil, s.Payloads != nil, s.Messages != nil} {
		if has {
			kinds++
		}
	}
	switch {
	case kinds > 1 || len(s.Messages)%tally.MessageBytes != 0:
		return s, false
	case s.Payloads == nil:
		return s, s.count() >= 0
	case s.Size <= 0 || len(s.Payloads)%s.Size != 0 || s.Bodies != nil || s.Dummies != nil || s.Body != 0:
		return s, false
	}
	p := Packed{Instance: s.Instance, Body: s.Size - 1, Payloads: slices.Collect(slices.Chunk(s.Payloads, s.Size))}
	for _, payload := range p.Payloads {
		if _, err := fragment.Unpack(payload); err != nil {
			return s, false
		}
	}
	return spoken(p), true
}

// inShares is said of an answer that is summed, whose vector may be the value itself.
const inShares = "an answer in two sealed shares, one for each aggregator; one share alone says nothing"

// tell returns in words what the parts of a report say; "" where their question has none.
func tell(q question.Question, parts []spokenPart) string {
	var bodies [][]byte
	for _, p := range parts {
		if p.Vector != nil {
			return inShares
		}
		bodies = append(bodies, p.said()...)
	}
	if d, ok := q.(question.Describer); ok {
		return d.Tell(bodies)
	}
	return ""
}
