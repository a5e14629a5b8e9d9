package client

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// An answer to a plan whose answers are summed is a vector, which goes to two aggregators
// in two shares. Until they are sealed it is in the ledger, where it would tell the value:
// aggregators' noise is not in it yet. So it lies there under a key of the device's secret.

// measure encodes an answer that is summed.
func (c *Pipeline) measure(v question.Value, memory question.Memory) (Answer, error) {
	symbol, err := c.protocol.Encode(v)
	_, stands := errors.AsType[*question.OutOfDomainError](err)
	if err != nil && !stands {
		return Answer{}, err
	}
	unfit := err
	crowd, vector, err := c.protocol.Measure(c.rand, symbol, memory)
	return Answer{Crowd: crowd, Parts: []Packed{{Vector: vector}}, Unfit: unfit}, err
}

// split splits a vector and seals its shares. The tokens are those that the leader and the
// helper demand, nil where one demands none.
func (c *Pipeline) split(crowd int, vector []uint64, now time.Time, tokens [][]byte) (dap.Report, error) {
	if err := c.demanded(0, tokens); err != nil {
		return dap.Report{}, err
	}
	return c.tasks[crowd].Report(c.rand, vector, now, tokens[1])
}

// packVector writes the numbers of a vector with so many bits each as the largest has.
func packVector(vector []uint64) []byte {
	width := 1
	for _, x := range vector {
		width = max(width, bits.Len64(x))
	}
	b := make([]byte, (len(vector)*width+7)/8)
	for i, x := range vector {
		for j := range width {
			at := i*width + j
			b[at/8] |= byte(x>>j&1) << (at % 8)
		}
	}
	return append(binary.AppendUvarint([]byte{byte(width)}, uint64(len(vector))), b...)
}

// unpackVector reads what packVector wrote.
func unpackVector(b []byte) ([]uint64, bool) {
	if len(b) == 0 || b[0] < 1 || b[0] > 64 {
		return nil, false
	}
	width := int(b[0])
	n, read := binary.Uvarint(b[1:])
	if read <= 0 || n < 1 || n > plan.MaxLength {
		return nil, false
	}
	packed := b[1+read:]
	if len(packed) != (int(n)*width+7)/8 {
		return nil, false
	}
	vector := make([]uint64, n)
	for i := range vector {
		for j := range width {
			at := i*width + j
			vector[i] |= uint64(packed[at/8]>>(at%8)&1) << j
		}
	}
	return vector, true
}

// shut returns a plan's vector as it lies in the ledger. There is one for a plan, and so for a
// key.
func (s secret) shut(plan [32]byte, vector []uint64) []byte {
	return s.vectorKey(plan).Seal(nil, make([]byte, 12), packVector(vector), plan[:])
}

// unshut reads what shut wrote.
func (s secret) unshut(plan [32]byte, sealed []byte) ([]uint64, error) {
	packed, err := s.vectorKey(plan).Open(nil, make([]byte, 12), sealed, plan[:])
	if err != nil {
		return nil, errors.New("client: the answer in the ledger was written with another secret, or is damaged")
	}
	vector, ok := unpackVector(packed)
	if !ok {
		return nil, journal.ErrDamaged
	}
	return vector, nil
}

func (s secret) vectorKey(plan [32]byte) cipher.AEAD {
	key := s.derive("confetti/vector/v1", plan[:])
	block, err := aes.NewCipher(key[:])
	if err == nil {
		var sealed cipher.AEAD
		if sealed, err = cipher.NewGCM(block); err == nil {
			return sealed
		}
	}
	panic("client: " + err.Error()) // a key of 32 bytes
}

// tasksOf returns the tasks of a plan whose answers are summed; nil where they are mixed.
func tasksOf(p plan.Plan) ([]*task.Task, error) {
	if p.Route.Sum == nil {
		return nil, nil
	}
	all, err := task.All(p)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return all, nil
}
