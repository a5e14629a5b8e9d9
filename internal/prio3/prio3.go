// Package prio3 implements Prio3 with two shares, as draft-irtf-cfrg-vdaf-20 states it: vectors are split with a
// proof, checked together and added unseen. Used by internal/dp/sum, internal/dap/task and party/aggregator.
//
// It has Histogram, SumVec and MultihotCountVec, byte for byte (version byte 18), and by the same proof vectors of bounded
// length. Once there is an RFC, the version
// byte changes, and what else it says; until then a plan names the draft.
//
// What is secret (a vector, a share) does not decide which code runs or which memory is read. A verification key is;
// a nonce and whether a proof holds are not.
package prio3

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/confetti-dp/confetti/internal/third_party/circl/vdaf/prio3/arith/fp128"
)

const (
	// Version is the draft's version byte.
	Version = 18
	// NonceSize is the length of what makes a report unique, KeySize that of the
	// aggregators' verification key.
	NonceSize = 16
	KeySize   = 32

	seedSize = 32
	element  = 16 // bytes
)

// Leader and Helper are the numbers of the aggregators.
const (
	Leader = 0
	Helper = 1
)

// What an element is expanded for (draft 20, section 7.2).
const (
	measurementShare uint16 = iota + 1
	proofShare
	jointRandomness
	proveRandomness
	queryRandomness
	jointSeed
	jointPart
)

// VDAF splits and verifies vectors of one circuit in one context. It is immutable
// and safe for concurrent use.
type VDAF struct {
	circuit Circuit
	chunk   int
	context []byte
	proof   proof
}

// New prepares a circuit. The chunk, in [1, Encoded], is how many numbers are checked
// at once: proofs are shortest about the root of Encoded. Reports of another context
// are refused.
func New(c Circuit, chunk int, context []byte) (*VDAF, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if chunk < 1 || chunk > c.encoded() {
		return nil, fmt.Errorf("prio3: a chunk of %d: give 1 to %d", chunk, c.encoded())
	}
	if len(context) > 1<<15 {
		return nil, fmt.Errorf("prio3: a context of %d bytes: give at most %d", len(context), 1<<15)
	}
	return &VDAF{circuit: c, chunk: chunk, context: append([]byte(nil), context...), proof: proofOf(c, chunk)}, nil
}

// Length returns how many numbers a vector has.
func (v *VDAF) Length() int { return v.circuit.length() }

// ShareSizes returns the lengths, in bytes, of what Split gives.
func (v *VDAF) ShareSizes() (public, leader, helper int) {
	return 2 * seedSize, element*(v.circuit.encoded()+v.proof.length()) + seedSize, 2 * seedSize
}

// Split makes the public share and those of the two aggregators. It fails if the
// vector is not one that the circuit allows; the error does not say which number.
func (v *VDAF) Split(random io.Reader, nonce [NonceSize]byte, vector []uint64) (public, leader, helper []byte, err error) {
	values, err := v.circuit.encode(vector)
	if err != nil {
		return nil, nil, nil, err
	}
	var seeds [4][seedSize]byte // the helper's share and blind, the leader's blind, the prover's
	for i := range seeds {
		if _, err := io.ReadFull(random, seeds[i][:]); err != nil {
			return nil, nil, nil, fmt.Errorf("prio3: random bytes: %w", err)
		}
	}
	helperShare, helperBlind, leaderBlind, prover := seeds[0], seeds[1], seeds[2], seeds[3]

	theirs := v.expand(helperShare, measurementShare, []byte{Helper}, len(values))
	ours := append(fp128.Vec(nil), values...)
	ours.SubAssign(theirs)
	parts := [2][seedSize]byte{
		v.part(leaderBlind, Leader, nonce, ours),
		v.part(helperBlind, Helper, nonce, theirs),
	}
	joint := v.joint(v.seed([seedSize]byte{}, jointSeed, parts[0][:], parts[1][:]))
	proof := plain(v.proof.prove(montgomery(values), montgomery(v.expand(prover, proveRandomness, []byte{1}, v.proof.arity())), joint))
	proof.SubAssign(v.expand(helperShare, proofShare, []byte{1, Helper}, len(proof)))

	_, size, _ := v.ShareSizes()
	leader = append(appendVec(appendVec(make([]byte, 0, size), ours), proof), leaderBlind[:]...)
	return append(parts[0][:], parts[1][:]...), leader, append(helperShare[:], helperBlind[:]...), nil
}

// State is what an aggregator keeps of a report until the other has answered.
type State struct {
	out  fp128.Vec
	seed [seedSize]byte
}

// Start checks an aggregator's share and gives its part of the verification. It fails
// if a share has not the right form; whether the vector is allowed, Decide says.
func (v *VDAF) Start(key [KeySize]byte, aggregator byte, nonce [NonceSize]byte, public, share []byte) (State, []byte, error) {
	if len(public) != 2*seedSize {
		return State{}, nil, fmt.Errorf("prio3: a public share of %d bytes: want %d", len(public), 2*seedSize)
	}
	values, proof, blind, err := v.open(aggregator, share)
	if err != nil {
		return State{}, nil, err
	}
	part := v.part(blind, aggregator, nonce, values)
	parts := [2][]byte{public[:seedSize], public[seedSize:]}
	parts[aggregator] = part[:]
	state := State{out: v.circuit.truncate(values), seed: v.seed([seedSize]byte{}, jointSeed, parts[0], parts[1])}
	query := montgomery(v.expand(key, queryRandomness, append([]byte{1}, nonce[:]...), v.proof.queries()))
	answer, err := v.proof.query(values, state.out, proof, query, v.joint(state.seed))
	if err != nil {
		return State{}, nil, err
	}
	return state, append(appendVec(nil, answer), part[:]...), nil
}

// open reads an aggregator's share.
func (v *VDAF) open(aggregator byte, share []byte) (values, proof fp128.Vec, blind [seedSize]byte, err error) {
	_, leader, helper := v.ShareSizes()
	want := leader
	if aggregator == Helper {
		want = helper
	} else if aggregator != Leader {
		return nil, nil, blind, fmt.Errorf("prio3: no aggregator has the number %d", aggregator)
	}
	if len(share) != want {
		return nil, nil, blind, fmt.Errorf("prio3: aggregator %d's share has %d bytes: want %d", aggregator, len(share), want)
	}
	copy(blind[:], share[len(share)-seedSize:])
	if aggregator == Helper {
		seed := [seedSize]byte(share[:seedSize])
		return v.expand(seed, measurementShare, []byte{Helper}, v.circuit.encoded()),
			v.expand(seed, proofShare, []byte{1, Helper}, v.proof.length()), blind, nil
	}
	if values, err = readVec(share[:element*v.circuit.encoded()]); err != nil {
		return nil, nil, blind, err
	}
	proof, err = readVec(share[element*v.circuit.encoded() : len(share)-seedSize])
	return values, proof, blind, err
}

var errRefused = errors.New("prio3: the proof does not hold")

// Decide adds up both parts of the verification, and gives the message with which
// each aggregator finishes. It fails if the vector is not one that the circuit allows,
// or a share was changed.
func (v *VDAF) Decide(leader, helper []byte) ([]byte, error) {
	size := element*v.proof.answers() + seedSize
	if len(leader) != size || len(helper) != size {
		return nil, fmt.Errorf("prio3: parts of a verification of %d and %d bytes: want %d", len(leader), len(helper), size)
	}
	sum, err := readVec(leader[:size-seedSize])
	if err != nil {
		return nil, err
	}
	other, err := readVec(helper[:size-seedSize])
	if err != nil {
		return nil, err
	}
	sum.AddAssign(other)
	if !v.proof.decide(sum) {
		return nil, errRefused
	}
	seed := v.seed([seedSize]byte{}, jointSeed, leader[size-seedSize:], helper[size-seedSize:])
	return seed[:], nil
}

// Finish gives an aggregator's share of a vector that was decided on. It fails if the
// device had told the two of other randomness than they found.
func (v *VDAF) Finish(s State, message []byte) (Vector, error) {
	if s.out == nil || subtle.ConstantTimeCompare(s.seed[:], message) != 1 {
		return Vector{}, errors.New("prio3: the aggregators have not decided on this share")
	}
	return Vector{s.out}, nil
}

// xof returns the draft's XofTurboShake128 for one use.
func (v *VDAF) xof(seed [seedSize]byte, use uint16, binder ...[]byte) *turboShake128 {
	s := new(turboShake128)
	tag := []byte{0, 0, Version, 0}
	binary.LittleEndian.PutUint16(tag, uint16(8+len(v.context)))
	tag = binary.BigEndian.AppendUint32(tag, v.circuit.number())
	s.Write(append(binary.BigEndian.AppendUint16(tag, use), v.context...))
	s.Write([]byte{seedSize})
	s.Write(seed[:])
	for _, b := range binder {
		s.Write(b)
	}
	return s
}

func (v *VDAF) seed(from [seedSize]byte, use uint16, binder ...[]byte) (to [seedSize]byte) {
	v.xof(from, use, binder...).Read(to[:])
	return to
}

// expand draws plain elements.
func (v *VDAF) expand(seed [seedSize]byte, use uint16, binder []byte, n int) fp128.Vec {
	all := make(fp128.Vec, n)
	v.xof(seed, use, binder).draw(all)
	return all
}

// part returns an aggregator's part of the joint randomness.
func (v *VDAF) part(blind [seedSize]byte, aggregator byte, nonce [NonceSize]byte, share fp128.Vec) [seedSize]byte {
	s := v.xof(blind, jointPart, []byte{aggregator}, nonce[:])
	s.write(share)
	var part [seedSize]byte
	s.Read(part[:])
	return part
}

func (v *VDAF) joint(seed [seedSize]byte) fp128.Vec {
	return montgomery(v.expand(seed, jointRandomness, []byte{1}, v.proof.checks))
}
