// Package adders runs the two aggregators of a plan as they ship, so that their noise can be looked at. Used by
// internal/audit.
package adders

import (
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/simulate"
)

// Pair holds the two aggregators of a plan's first crowd, as they ship, and the analyzer who opens
// what they hand over.
type Pair struct {
	task  *task.Task
	keys  simulate.Keys
	sides [2]adder          // the leader and the helper
	batch aggregator.Batch  // an aggregator's share of a sum of nothing, of as many reports as may leave
	quiet [2]dap.Ciphertext // likewise sealed, without noise
}

// adder hands over its share of a batch with its noise, sealed or not.
type adder interface {
	Share(*rand.Rand, aggregator.Batch, ...aggregator.Day) (dap.Ciphertext, error)
	Noisy(*rand.Rand, aggregator.Batch, ...aggregator.Day) (prio3.Vector, error)
}

// Leader and Helper name the sides.
const (
	Leader = iota
	Helper
)

// Roles are the names of the sides.
var Roles = [2]string{"the leader", "the helper"}

// New makes both aggregators with keys that only a simulation holds together.
func New(p *protocol.Protocol, keys simulate.Keys) (*Pair, error) {
	t, err := task.New(p.Plan, 0)
	if err != nil {
		return nil, err
	}
	t.Tokens = false
	var secret [aggregator.PairBytes]byte
	rng.Reader(rng.New()).Read(secret[:])
	pair := aggregator.NewPair(secret)
	a := &Pair{task: t, keys: keys, batch: aggregator.Batch{Reports: uint64(t.Minimum)}}
	a.sides = [2]adder{aggregator.NewLeader(t, keys.Leader, pair), aggregator.NewHelper(t, keys.Helper, pair, nil)}
	if err := a.batch.Sum.UnmarshalBinary(make([]byte, 16*t.VDAF.Length())); err != nil { // of zeros
		return nil, err
	}
	for side := range a.quiet {
		if a.quiet[side], err = t.SealSum(dap.Leader+dap.Role(side), a.batch.Sum); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Noise draws what the named aggregators add to the sum of a batch.
func (a *Pair) Noise(r *rand.Rand, of ...int) ([]int64, error) {
	shares := [2]prio3.Vector{a.batch.Sum, a.batch.Sum}
	for _, side := range of {
		var err error
		if shares[side], err = a.sides[side].Noisy(r, a.batch); err != nil {
			return nil, err
		}
	}
	return prio3.Open(shares[Leader], shares[Helper])
}

// Handed draws what one aggregator adds, as the analyzer reads it of the share that it is handed
// sealed.
func (a *Pair) Handed(r *rand.Rand, side int) ([]int64, error) {
	sealed, err := a.sides[side].Share(r, a.batch)
	if err != nil {
		return nil, err
	}
	both := dap.Collected{Leader: a.quiet[Leader], Helper: a.quiet[Helper]}
	*[2]*dap.Ciphertext{&both.Leader, &both.Helper}[side] = sealed
	return a.task.Open(a.keys.Analyzer, both)
}
