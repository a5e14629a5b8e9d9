package histogram

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// A backstop is kept under what makes it worth keeping: the question, the
// mechanism with its epsilon, and the value (PROTOCOLS, section 2). The plan's hash
// is left out, so that asking the same again in a new epoch, of another crowd or by
// other shufflers spends nothing new; any other value, mechanism or epsilon does.
// Which attribute was drawn, and which row of a sketch, belongs to the backstop:
// drawing again would randomize again.

// recall returns what the device has settled on for this value, and under which key.
func (h *Question) recall(s cellsHeld, memory question.Memory) (key [32]byte, committed []commitment, err error) {
	if memory == nil {
		return key, nil, nil
	}
	key = h.backstopKey(s)
	kept, ok := memory.Recall(key)
	if !ok {
		return key, nil, nil
	}
	committed, err = h.unpack(kept)
	return key, committed, err
}

// Backstop says what the plan keeps; ok is false where it keeps nothing.
func (h *Question) Backstop() (b question.Backstop, ok bool) {
	if h.ask.Randomizer.Fragments <= 1 {
		return question.Backstop{}, false
	}
	all := h.together()
	return question.Backstop{
		Question: sha256.Sum256(h.backstopQuestion()),
		Epsilon:  all.mechanism.Backstop.LocalSet(all.items, account.Replacement).Epsilon,
	}, true
}

// backstopKey returns the SHA-256 of the question's bytes, a zero byte, and the cells
// held, each attribute's preceded by their number.
func (h *Question) backstopKey(s cellsHeld) [32]byte {
	b := append(h.backstopQuestion(), 0)
	for _, held := range s.held {
		b = binary.BigEndian.AppendUint32(b, uint32(len(held)))
		for _, cell := range held {
			b = binary.BigEndian.AppendUint32(b, cell)
		}
	}
	return sha256.Sum256(b)
}

// backstopQuestion returns a domain, and the question and mechanism in canonical JSON.
func (h *Question) backstopQuestion() []byte {
	r := h.ask.Randomizer
	question, err := json.Marshal(struct {
		Attributes []plan.Attribute
		Collect    string
		Sketch     *plan.Sketch
		Keep, Flip float64
	}{h.ask.Attributes, h.ask.Collect, h.ask.Sketch, r.BackstopKeep, r.BackstopFlip})
	if err != nil {
		panic("histogram: " + err.Error()) // numbers of a valid plan are finite
	}
	return append([]byte("confetti/backstop/v1\n"), question...)
}

// pack writes commitments as unsigned varints: for each the attribute, a length,
// and as many numbers.
func pack(committed []commitment) []byte {
	var b []byte
	for _, c := range committed {
		b = binary.AppendUvarint(b, uint64(c.attribute))
		b = binary.AppendUvarint(b, uint64(len(c.to)))
		for _, v := range c.to {
			b = binary.AppendUvarint(b, uint64(v))
		}
	}
	return b
}

// errDamaged: a backstop that is lost is not drawn anew, for that would spend its
// epsilon again without anybody having decided so.
var errDamaged = errors.New("histogram: the kept backstop is damaged: answer nothing, or forget it and spend its epsilon again")

// unpack reads what pack wrote, and takes nothing that the question could not have
// given: a damaged store is no reason to panic.
func (h *Question) unpack(b []byte) ([]commitment, error) {
	next := func(below int) (int, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 || v >= uint64(below) {
			return 0, false
		}
		b = b[n:]
		return int(v), true
	}
	var committed []commitment
	for len(b) > 0 {
		i, ok := next(len(h.attributes))
		if !ok || len(committed) > 0 && i <= committed[len(committed)-1].attribute {
			return nil, errDamaged
		}
		n, ok := next(len(b) + 1)
		if !ok {
			return nil, errDamaged
		}
		c := commitment{attribute: i, to: make([]uint32, n)}
		for j := range c.to {
			v, ok := next(1 << 32)
			if !ok {
				return nil, errDamaged
			}
			c.to[j] = uint32(v)
		}
		if !h.randomizers[i].valid(c.to) {
			return nil, errDamaged
		}
		committed = append(committed, c)
	}
	if len(committed) != h.answers() {
		return nil, errDamaged
	}
	return committed, nil
}
